-- audit_list: who changed what, newest first.
CREATE VIEW camserver.audit_list AS
SELECT audit_id, at, actor, action, subject, before, after FROM camserver.audit ORDER BY audit_id DESC;
