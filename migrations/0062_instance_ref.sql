-- A machine that its provider lists is looked for by its provider's id.
CREATE INDEX instance_by_ref ON instance (provider_ref) WHERE provider_ref <> '';
