-- Makes the copies of vacuum_full.sql, and compares them with the server's.
\set ECHO errors
TABLE copies
\gexec
\set ECHO all
SELECT * FROM differences(:'contents', :'pages');
