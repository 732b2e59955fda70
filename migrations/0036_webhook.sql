-- How far each webhook has come in the timeline. One that is configured no more keeps its row, in case it comes back.
CREATE TABLE webhook (
    name TEXT PRIMARY KEY NOT NULL,
    position INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    given_up INTEGER NOT NULL,
    delivered_at INTEGER NOT NULL,
    failing_since INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    told INTEGER NOT NULL,
    stopped INTEGER NOT NULL,
    error TEXT NOT NULL
) STRICT, WITHOUT ROWID;
