-- Where others reach an instance, as its agent says: an IPv4 or IPv6 address, '' until it has.

ALTER TABLE instance ADD COLUMN address TEXT NOT NULL DEFAULT '';
