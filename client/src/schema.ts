// Generated from openapi.json by `npm run generate`. Do not edit.
export interface paths {
    "/audit/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the events of the audit log
         * @description The audit log records these events:
         *
         *     - `user.created`: A user was created, individually or by an import.
         *     - `user.changed`: Fields of a user changed.
         *     - `user.deleted`: A user was deleted and can be restored.
         *     - `user.restored`: A deleted user was restored.
         *     - `user.secured`: The account of a user was secured. `factors` were removed and `keys` suspended with it.
         *     - `user.purged`: A user was removed permanently.
         *     - `user.invited`: A user was invited again by mail.
         *     - `user.exported`: Users were exported to a file.
         *     - `user.import_previewed`: An import was checked in a dry run.
         *     - `user.unlocked`: The lockouts after wrong passwords and wrong codes were lifted.
         *     - `user.email_confirmed`: A user confirmed a new e-mail address.
         *     - `mail.retried`: A retry of a waiting or failed mail to a user was requested.
         *     - `login.succeeded`: A user logged in.
         *     - `login.failed`: A login was rejected.
         *     - `login.locked`: Failed logins locked an account.
         *     - `login.challenged`: A user entered the right password. A second factor must follow.
         *     - `login.second_factor_failed`: A second factor was rejected, at a login or a reauthentication.
         *     - `login.reauthenticated`: A user authenticated again in a session.
         *     - `factor.recovery_code_used`: A user used a recovery code instead of a second factor.
         *     - `password.reset_requested`: A link to reset a password was requested.
         *     - `password.changed`: A user changed their password.
         *     - `password.reset`: A user set a password with a link. `keys` names the API keys of the user that still work.
         *     - `factor.enrolled`: A user confirmed a second factor.
         *     - `factor.renamed`: A user renamed a second factor.
         *     - `factor.removed`: A user removed a second factor.
         *     - `factor.reset`: All second factors of a user were removed by an administrator or from the command line.
         *     - `factor.counter_went_back`: A passkey was rejected because its signature counter went back: it may have been cloned.
         *     - `factor.recovery_codes_renewed`: A user replaced their recovery codes.
         *     - `session.ended`: A session was ended.
         *     - `session.token_reused`: A refresh token was replayed, which ended its session.
         *     - `operation.accepted`: An operation on many users was accepted.
         *     - `operation.skipped_exported`: The rows that an import skipped were exported to a file.
         *     - `operation.canceled`: An operation was canceled.
         *     - `role.created`: A role was created.
         *     - `role.changed`: A role changed.
         *     - `role.deleted`: A role was deleted.
         *     - `key.created`: An API key was created.
         *     - `key.resumed`: A suspended API key was resumed.
         *     - `key.rotated`: The secret of an API key was replaced.
         *     - `key.revoked`: An API key was revoked.
         *     - `address_block.created`: Logins and password resets from a network were blocked.
         *     - `address_block.removed`: The block of a network was removed.
         *     - `webhook.created`: A webhook was created.
         *     - `webhook.changed`: The settings of a webhook changed.
         *     - `webhook.deleted`: A webhook was deleted.
         *     - `webhook.enabled`: A webhook was enabled.
         *     - `webhook.disabled`: A webhook was disabled, by a user or by the service.
         *     - `webhook.replayed`: A webhook was moved to another place in the change feed.
         *     - `webhook.skipped`: A webhook skipped a change that failed.
         *     - `webhook.secret_rotated`: The secret of a webhook was replaced.
         *     - `database.restored`: The command `after-restore` ended sessions, links and signing keys, and suspended API keys. Changes after `restored_to` are lost.
         *     - `signing_key.rotated`: A new key signs access tokens, or is published to sign them later.
         *
         *     Permission: `audit:read`
         */
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/change/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow changes
         * @description Returns what happened to users, sessions, roles and API keys, in an order that never changes. No change is missed or repeated. No change appears later before a cursor that was returned. Callers with a scope get the changes of the users within the scope and of their sessions. An open transaction delays later changes: see `behind_seconds`.
         *
         *     To keep a copy, read `GET /user/list` or `GET /user/export` once. Then continue here with its `changes_cursor`. For callers with a scope and for requests with a filter, a page can have fewer items than `per_page`, or none, before the end of the feed: each request looks through at most 10,000 changes.
         *
         *     Permission: `change:read`
         */
        get: operations["listChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/role/create": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a role
         * @description For System Users without `carrier_scope`. A role may contain only permissions that the caller holds. `may_grant` may contain only roles that the caller may grant: roles in `may_grant` of a role of the caller, and roles whose permissions the caller holds and whose `may_grant` the caller may grant.
         *
         *     Permission: `role:manage`
         *
         *     Requires a fresh authentication.
         */
        post: operations["createRole"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/role/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the roles
         * @description Permission: `role:read`
         */
        get: operations["listRoles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/role/{role}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get one role
         * @description Permission: `role:read`
         */
        get: operations["getRole"];
        put?: never;
        post?: never;
        /**
         * Delete a role
         * @description For System Users without `carrier_scope`. Fails while a user has the role or another role lists it in `may_grant`. Deleted users who had the role are restored without it. Built-in roles cannot be deleted (`access.denied`).
         *
         *     Permission: `role:manage`
         *
         *     Requires a fresh authentication.
         */
        delete: operations["deleteRole"];
        options?: never;
        head?: never;
        /**
         * Modify a role
         * @description For System Users without `carrier_scope`. Absent fields stay unchanged; lists are replaced as a whole. The change takes effect on the next request of every user with the role, on other instances within milliseconds. The caller must be allowed to grant everything that the role grants, before and after the change. Of built-in roles, only `second_factor_required_from` can be changed (`access.denied`).
         *
         *     Permission: `role:manage`
         *
         *     Requires a fresh authentication.
         */
        patch: operations["changeRole"];
        trace?: never;
    };
    "/auth/session/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List web sessions
         * @description Lists the caller's own sessions, or with `session:read` all sessions within the caller's scope. API keys have no sessions and need the permission.
         *
         *     Permission: `any login`
         */
        get: operations["listSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/session/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End the sessions that match a filter
         * @description Without a filter, ends the caller's other sessions. Sessions of other users need `session:revoke`. The current session is never ended. Thousands of sessions are ended in batches. After an error, send the same request again to end the rest.
         *
         *     Permission: `any login`
         */
        delete: operations["endSessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/session/{session_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End one session
         * @description Ends one of the caller's sessions, or with `session:revoke` any session within the caller's scope. Succeeds if the session has already ended.
         *
         *     Permission: `any login`
         */
        delete: operations["endSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/key/create": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create an API key
         * @description Send the key as `Authorization: Bearer …` or `X-Auth-Token: …` on every route that requires a permission. The key is an actor with its own permissions and scope. It stays active until it expires or is revoked, also when the user who created it is disabled or deleted. The keys of a Carrier User belong to the carrier.
         *
         *     Permission: `key:manage`; not available to API keys
         *
         *     Requires a fresh authentication.
         */
        post: operations["createApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/key/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List API keys
         * @description Includes revoked and expired keys. Returns the keys of Carrier Users within the scope. A caller without a scope also sees all keys of System Users. Other callers see only the System User keys that they created.
         *
         *     Permission: `key:manage`
         */
        get: operations["listApiKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/key/{key_id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace the secret of an API key
         * @description Both secrets work until `previous_until`, with the same permissions and scope. Another rotation before this time ends the oldest secret immediately; a revocation ends all of them. Requires the permissions and the scope of the key.
         *
         *     Permission: `key:manage`; not available to API keys
         *
         *     Requires a fresh authentication.
         */
        post: operations["rotateApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/key/{key_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a suspended API key
         * @description Reactivates a key that `POST /user/{user_id}/secure` suspended. Has no effect on other keys.
         *
         *     Permission: `key:manage`; not available to API keys
         *
         *     Requires a fresh authentication.
         */
        post: operations["resumeApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/key/{key_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API key
         * @description Takes effect on the next request with the key, on other instances within milliseconds, and on the next batch of an operation that the key requested. Revoking a key again is not an error.
         *
         *     Permission: `key:manage`
         */
        delete: operations["revokeApiKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/address-block/create": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Block a network
         * @description Until `expires_at`, every route that logs in or resets a password responds to addresses in the network with 429 `auth.too_many_attempts`, whatever the credentials. The address of a user behind a portal is `X-User-Address`. Requests with a valid token, and refreshes, still work: sessions do not end. Takes effect on the next request, on other instances within milliseconds. If several blocks contain an address, the last end applies.
         *
         *     Permission: `address_block:manage`
         *
         *     Requires a fresh authentication.
         */
        post: operations["createAddressBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/address-block/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List address blocks
         * @description Returns the blocks that have not expired.
         *
         *     Permission: `address_block:manage`
         */
        get: operations["listAddressBlocks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/address-block/{address_block_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove an address block
         * @description Logins from the network work again, unless another block contains it.
         *
         *     Permission: `address_block:manage`
         *
         *     Requires a fresh authentication.
         */
        delete: operations["deleteAddressBlock"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/operation/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List operations
         * @description Requires the same permission as the operation itself. Callers see their own operations; System Users without a carrier scope see all operations.
         *
         *     Permission: `any login`
         */
        get: operations["listOperations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/operation/{operation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow an operation
         * @description Requires the same permission as the operation itself. Callers see their own operations; System Users without a carrier scope see all operations.
         *
         *     Permission: `any login`
         */
        get: operations["getOperation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/operation/{operation_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel an operation
         * @description The operation ends before its next batch. Finished batches stay in effect and can be undone. Canceling an operation that has ended has no effect. Requires the same permission as the operation itself. Callers see their own operations; System Users without a carrier scope see all operations.
         *
         *     Permission: `any login`
         */
        post: operations["cancelOperation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete the users that match a filter
         * @description Deletes softly: deleted users can be restored. Needs a filter or `everyone=true`. The filters are those of `GET /user/list`, including `attributes.<key>`. Up to 10,000 matching users are processed in one transaction, all or nothing. For more users, the response is 202 with an operation. The operation covers the users that match now, processes them in batches, and continues after a crash. Users that a rule protects are skipped, with the error code of the rule as reason. `POST /user/operation/{operation_id}/undo` restores the users within 30 days.
         *
         *     Permission: `user:delete`
         *
         *     Requires a fresh authentication if `dry_run` is false.
         */
        delete: operations["deleteUsers"];
        options?: never;
        head?: never;
        /**
         * Modify the users that match a filter
         * @description Needs a filter or `everyone=true`. The filters are those of `GET /user/list`, including `attributes.<key>`. Up to 10,000 matching users are processed in one transaction, all or nothing. For more users, the response is 202 with an operation. The operation covers the users that match now, processes them in batches, and continues after a crash. Users that a rule protects are skipped, with the error code of the rule as reason. `POST /user/operation/{operation_id}/undo` restores the users within 30 days.
         *
         *     Permission: `user:update`
         *
         *     Requires a fresh authentication if `dry_run` is false and the body contains `roles`, `roles_add`, `roles_remove`, `carrier_scope`, `allowed_ips`, `second_factor_required_from`, `reset_second_factors`, `secure`, or a `status` but `disabled`.
         */
        patch: operations["changeUsers"];
        trace?: never;
    };
    "/user/operation/{operation_id}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undo an operation
         * @description Restores every user whose `version` has not changed since the operation. Possible for 30 days. Other users are skipped, with the reason. The undo of an import, which requires `user:import` and `user:delete`, deletes the users that it created, as long as they are unchanged and have never logged in. Users that an undo skipped, or did not reach because it was canceled or failed, can be restored by another undo. Changes, deletions and imports can be undone, including those of a canceled operation; undos cannot. Ended sessions stay ended. Permissions, scope and grants at the time of the undo apply. The response is the operation that does the undo. With up to 10,000 users, it has already ended.
         *
         *     Permission: `any login`
         *
         *     Requires a fresh authentication.
         */
        post: operations["undoOperation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export the users that match a filter
         * @description Exports all users in the scope of the caller that match the filter, from one snapshot, in the order of their ids. The filters are those of `GET /user/list`, including `attributes.<key>`. An import accepts the columns of an export, with any delimiter and with or without a byte order mark. CSV follows RFC 4180 with a header line. An empty cell is no value. `attributes` is JSON. Lists are plain text with `;` between the items; a list that is empty, or that a spreadsheet would change to a number or date, is JSON. A cell that a spreadsheet would run as a formula (`= + - @`, tab or line break, also after apostrophes) gets one more apostrophe, which an import removes. The same applies to each part of a cell after `;`, tab or line break, where spreadsheets of some languages split cells; in `attributes`, the `;` becomes `\u003b`. A carrier, or a System User with their API keys, has one export at a time; a second export returns 429. A client that reads nothing for 30 seconds, or less than 16 KiB per second for long, is disconnected. The audit log records each export. If an export fails midway, the connection closes before the end of the body.
         *
         *     Permission: `user:export`
         *
         *     Requires a fresh authentication if `hashes` is true.
         */
        get: operations["exportUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/export/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a one-time link to an export
         * @description Returns a link with which a browser can download an export without an access token. Takes the query parameters of `GET /user/export`. The link works once, within 60 seconds. A session has at most one unused link: a newer link replaces it. The link stops working when the session ends or the user is disabled. The download contains what `GET /user/export` would return to the caller at that time.
         *
         *     Permission: `user:export`; not available to API keys
         *
         *     Requires a fresh authentication if `hashes` is true.
         */
        post: operations["createExportLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/export/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export users with a one-time link
         * @description Exports the users of the link, as `GET /user/export` does. Each request uses up the link, even if the export is rejected.
         */
        get: operations["downloadExport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create users from a file
         * @description Accepts CSV (RFC 4180, UTF-8, with a header line) or NDJSON, as an export writes them. `user_type`, `name` and `email` are required. The columns: `user_id`, `user_type`, `name`, `email`, `email_verified_at`, `first_name`, `last_name`, `phone`, `job_title`, `department`, `locale`, `timezone`, `carrier_id`, `carrier_scope`, `roles`, `status`, `allowed_ips`, `attributes`, `must_change_password`, `created_at`, `last_login_at`, `last_login_ip`, `last_seen_at`, `password_changed_at`, `password_hash`. At most 5,000,000 rows of at most 131,072 characters each, and at most 4 GiB (413). CSV as spreadsheets write it: the delimiter is `,`, `;` or tab, as in the header line or in a first line such as `sep=;`. A byte order mark, quoted line breaks, rows of empty cells and missing cells at the end of a row are accepted. An empty cell is no value. `roles`, `carrier_scope` and `allowed_ips` are plain text with `;` between the items (`carrier_user;carrier_administrator`), or JSON; `attributes` is JSON. The columns `import_line` and `import_errors` are ignored. Each row succeeds or fails on its own, by the rules of `POST /user/create`. A file that cannot be read creates no users. The response is the operation, with the first 100 failed rows in `skipped`. Up to 10,000 rows (100 with an MD5 hash) are imported within the request (200); a larger or delayed import continues in the background (202). `GET /user/operation/{operation_id}/skipped` returns all failed rows, as a CSV file to correct and import. A dry run compares the rows with the stored users, not with each other: only the import itself reports rows with the same name, address or id. Its response lists the first 100 failed rows. The users and API keys of a carrier together learn of at most 100 conflicts per hour with names, addresses and ids outside their scope; without a carrier, a user and the keys that they created. After that, all further rows fail with `request.rate_limited`, and another dry run returns 429. Callers who can list all users have no limit. Password hashes: Argon2, bcrypt, scrypt and PBKDF2 in their standard text forms, and MD5 in hexadecimal, which is wrapped in Argon2id. Costlier hashes fail with `password_hash.too_costly`: bcrypt beyond cost 12; PBKDF2 beyond 1,300,000 (SHA-1), 1,200,000 (SHA-256) or 600,000 (SHA-512) iterations; scrypt beyond N × r × p = 1,048,576; Argon2 beyond 128 MiB or m × t = 524,288 KiB. The limit of Argon2 also applies to the sum of the parameter sets of all stored Argon2 hashes, and the limit of scrypt to those of scrypt. Only System Users without `carrier_scope` can import hashes other than MD5, because they increase the cost of each rejected login. The first login replaces the hash; if the password policy rejects the password, the user must change it. A user without a hash is `invited` or `disabled`.
         *
         *     Permission: `user:import`
         *
         *     Requires a fresh authentication if `dry_run` is false.
         */
        post: operations["importUsers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/operation/{operation_id}/skipped": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List or download the rows that an import skipped
         * @description Returns the rows of a file that created no user, each with all of its errors and its cells. With `Accept: text/csv`, the response is a file with all rows: correct the cells and import the file again. `import_line` is the line in the imported file, `import_errors` names the errors; an import ignores both. An import keeps its first 100,000 failed rows, up to 64 MiB. `skipped_count` counts all of them. The rows are removed 30 days after the end of the import (`skipped_until`). While the import is running, the response has the rows that have failed so far. Password hashes are not kept. In a row that had one, `password_hash` is `(removed)`: insert the hash again, or clear the cell to invite the user. Hashes in other columns are also replaced; only hashes within longer texts, such as `attributes`, are not recognized. Unknown fields are not kept either. The cells are empty if the row could not be read, and after a purge of a user in the row. Requires the same permission as the import. Callers see the rows of their own imports; System Users without a carrier scope see the rows of all imports. Rows of an import of another caller also require `user:read`, and the file `user:export`; without it, the response is 404. The audit log records each download. A download counts as an export.
         *
         *     Permission: `any login`
         */
        get: operations["listSkippedRows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/create": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a user
         * @description Without `password`, the user is `invited` and gets a mail with a link to set a password. With `password`, the user is `active` and must change the password at the first login, unless `must_change_password` is false. At most 8 new passwords of a caller are processed at the same time; further requests return 429.
         *
         *     Permission: `user:create`
         *
         *     Requires a fresh authentication if `roles` is not empty.
         */
        post: operations["createUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the users that match a filter
         * @description Filters are joined by AND; an operator is a suffix of the field. `attributes.<key>` compares the text of a top-level attribute for equality (at most 3). It has no operators: a suffix is part of the key.
         *
         *     Permission: `user:read`
         */
        get: operations["listUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/{user_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get one user
         * @description Users can read themselves without `user:read`.
         *
         *     Permission: `user:read`
         */
        get: operations["getUser"];
        put?: never;
        post?: never;
        /**
         * Delete one user
         * @description Deletes softly: sessions end, name and e-mail address are free again, and the user can be restored. With `purge=true`, deletes the user for good.
         *
         *     Permission: `user:delete`
         *
         *     Requires a fresh authentication if `purge` is true.
         */
        delete: operations["deleteUser"];
        options?: never;
        head?: never;
        /**
         * Modify one user
         * @description Absent fields stay unchanged, null clears a field. Without `user:update`, users can change these fields of their own user: `first_name`, `last_name`, `phone`, `job_title`, `department`, `locale`, `timezone`.
         *
         *     Permission: `user:update`
         *
         *     Requires a fresh authentication if the body contains `roles`, `carrier_scope`, `allowed_ips`, `email`, `second_factor_required_from`, or a `status` other than `disabled`.
         */
        patch: operations["changeUser"];
        trace?: never;
    };
    "/user/{user_id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore a deleted user
         * @description Restores the password, the status, and the roles that are still available to the type of the user.
         *
         *     Permission: `user:delete`
         *
         *     Requires a fresh authentication if the user has roles.
         */
        post: operations["restoreUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/{user_id}/invite": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Invite a user again
         * @description Mails a new link to a user without a password; the older link stops working. At most 3 invitations per address and hour are mailed. Beyond that the response is the same, but the mail is delayed until the hour is over, and the older link stays valid until then.
         *
         *     Permission: `user:update`
         */
        post: operations["inviteUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/carrier/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the carriers that have users
         * @description Lists the carriers within the scope of the caller, with their numbers of users by status. With more than 10,000 carriers, `total` is 10,000 with the relation `approx`, unless `count=exact` is sent.
         *
         *     Permission: `user:read`
         */
        get: operations["listCarriers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log in
         * @description By name or e-mail address. An unknown user, a wrong password, a disabled user and an invited user get the same response. If the user has a second factor, the right password returns 401 with the code `auth.second_factor_required` and a `challenge` for `POST /auth/second-factor`. `audience` and `permissions` limit the tokens of the session. Such tokens contain `permissions` instead of `roles`, and grant no more than these permissions here and in all modules.
         */
        post: operations["login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/check-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check and refresh a token
         * @description Works in three ways. If the body contains `token`, that access token is only checked, and the header is ignored. If only the header contains a token, that token is checked; past half its lifetime it is replaced by a new token of the same session, until 1 h after the last login or refresh. If the body contains `refresh_token` or `"transport": "cookie"`, both tokens are rotated. The access token in the header may then be absent or expired. An access token of another session, or with an unknown or revoked signing key, returns 401, and nothing is rotated. A refresh may narrow `audience` and `permissions` for the rest of the session; without them, it keeps both. An invalid token, an ended session and a disabled user get the same 401 response.
         */
        post: operations["checkToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log out
         * @description Ends the session of `refresh_token` or of the cookie. If both are absent or malformed, ends the session of the access token. A failed logout keeps the cookie.
         */
        post: operations["logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change your own password
         * @description Ends all other sessions of the user. At most 8 new passwords of a user are processed at the same time; further requests return 429.
         *
         *     Permission: `any login`; not available to API keys
         */
        post: operations["changePassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/jwks.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the public keys that verify access tokens
         * @description JWKS (RFC 7517). An access token is a JWT with `typ` `at+jwt` and `alg` `ES256`. Its claims are `iss` (the public URL of the service), `aud` (`carrier-platform`), `sub` (id of the user), `client_id` (`carrier-platform`, or the id of the API key of a portal), `sid` (id of the session), `jti`, `iat`, `exp`, `user_type`, `roles`, `amr` and `auth_time` (methods and time of the authentication), and `carrier_id` for Carrier Users. If the login asked for `audience` or `permissions`, `aud` is that list, and the token contains `permissions` instead of `roles`. Other tokens contain no permissions. Offline verification notices the end of a session or a change of roles only when the token expires. The keys may be cached for 5 minutes. Fetch them again if a `kid` is unknown.
         */
        get: operations["getJwks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/introspect": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Introspect a token (RFC 7662)
         * @description Users can introspect their own access tokens. Callers with the permission `token:introspect` can introspect the access tokens of all users within their scope, and the API keys that they may see. The response contains only `active: false` for invalid, expired and revoked tokens and keys, refresh tokens, users and keys outside the scope, and users who must change their password. Only the response for an API key has a `client_id`. A caller with an API key needs the permission. The key can also be sent as OAuth 2.0 client credentials, with its id (`key_id`) as `client_id` and the key as `client_secret`: by HTTP Basic (`client_secret_basic`) or in the form (`client_secret_post`).
         *
         *     Permission: `any login`
         */
        post: operations["introspectToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-authorization-server": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the metadata of the authorization server
         * @description For OAuth 2.0 libraries (RFC 8414). With a `BASE_PATH`, the metadata is also at the path of the RFC: `/.well-known/oauth-authorization-server` followed by `BASE_PATH`. The service has no authorization endpoint and no token endpoint: users log in with `POST /auth/login`.
         */
        get: operations["getAuthorizationServer"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check a token for a proxy
         * @description For `auth_request` of nginx, `forwardAuth` of Traefik and `forward_auth` of Caddy (docs/proxies.md). Accepts any method, access tokens of any audience, and API keys. A check counts as activity of the session. The 204 response names the caller in headers, which the proxy copies to the request to the module. A 403 names the first missing permission. Users who must change their password or enrol a second factor also get 403.
         *
         *     Permission: `any login`
         */
        get: operations["verifyToken"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/reauthenticate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Authenticate again in the current session
         * @description Renews `auth_time` of the session. The new time is valid with the next request, on every instance and for older access tokens, too. Users with a second factor send a code, a recovery code or a passkey; other users send the password. Failures count like those of logins.
         *
         *     Permission: `any login`; not available to API keys
         */
        post: operations["reauthenticate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/reauthenticate/options": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get the options to authenticate again with a passkey
         * @description Returns options for `navigator.credentials.get()`, with the passkeys of the user.
         *
         *     Permission: `any login`; not available to API keys
         */
        post: operations["createReauthenticationOptions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/second-factor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Complete a login with a second factor
         * @description Send the `challenge` of the login with exactly one second factor. A challenge works once and ends after 5 rejected codes, recovery codes or passkeys. A code works once. After several wrong codes, codes are locked for a while and return 429, also with other challenges; recovery codes and passkeys still work. A wrong code and a code that was used before get the same response.
         */
        post: operations["completeLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/second-factor/passkey-options": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get the options to complete a login with a passkey
         * @description Returns options for `navigator.credentials.get()`, with the passkeys of the user who logs in. Send the result to `POST /auth/second-factor`, together with the same `challenge`.
         */
        post: operations["createSecondFactorOptions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/passkey/options": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get the options for a login with a passkey
         * @description Returns options for `navigator.credentials.get()`, also with `mediation: "conditional"` (autofill). They are the same for every caller except for the challenge, which is valid for 5 minutes and one login.
         */
        post: operations["createPasskeyLoginOptions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/passkey/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log in with a passkey
         * @description Without name and password: the passkey names its user, and counts as both factors. Lockouts after wrong passwords or codes do not matter. An unknown passkey, a wrong signature and a disabled user get the same response. A passkey whose signature counter went back is rejected, and its user is notified.
         */
        post: operations["loginWithPasskey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/webauthn": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the origins whose pages may use passkeys
         * @description For related origin requests (WebAuthn Level 3, §5.11): browsers read it from the host of the RP id, so a proxy must serve it there. Always at the root, even with `BASE_PATH`.
         */
        get: operations["getPasskeyOrigins"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the current user
         * @description `last_login_at`, `last_login_ip`, `last_seen_at`, `online` and `locked_until` may be a minute old. All other fields and the `ETag` are current.
         *
         *     Permission: `any login`; not available to API keys
         */
        get: operations["getCurrentUser"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/factor/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List your own second factors
         * @description Includes factors that are not confirmed yet. They expire after 10 minutes.
         *
         *     Permission: `any login`; not available to API keys
         */
        get: operations["listOwnFactors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/factor/totp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add an authenticator app
         * @description Returns the secret of a new authenticator app (TOTP, RFC 6238: SHA-1, 6 digits, 30 s). The factor has no effect until its confirmation and expires after 10 minutes. It replaces an authenticator app that was not confirmed. A user can have 2 authenticator apps. The first factor of a user who must have one, or whose factors were reset, needs `mail_code`.
         *
         *     Permission: `any login`; not available to API keys
         *
         *     Requires a fresh authentication.
         */
        post: operations["addTotp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/factor/totp/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Confirm an authenticator app
         * @description The code must be new: no code of the same or an earlier 30 seconds is accepted again, not even at login. A wrong code returns 400 with `errors` at `/code`; after 5 wrong codes the factor is removed. The first factor of a user ends all other sessions of the user and returns recovery codes.
         *
         *     Permission: `any login`; not available to API keys
         *
         *     Requires a fresh authentication.
         */
        post: operations["confirmTotp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/factor/recovery-codes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace your recovery codes
         * @description The old codes stop working. Notifies the user by mail. Requires a confirmed factor.
         *
         *     Permission: `any login`; not available to API keys
         *
         *     Requires a fresh authentication.
         */
        post: operations["renewRecoveryCodes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/factor/{factor_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove one of your second factors
         * @description Removing a confirmed factor ends all other sessions of the user. The recovery codes disappear with the last factor. The last factor of a user who must have one cannot be removed.
         *
         *     Permission: `any login`; not available to API keys
         *
         *     Requires a fresh authentication.
         */
        delete: operations["removeFactor"];
        options?: never;
        head?: never;
        /**
         * Rename one of your second factors
         * @description Permission: `any login`; not available to API keys
         */
        patch: operations["renameFactor"];
        trace?: never;
    };
    "/auth/factor/passkey/options": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get the options for a new passkey
         * @description Returns options for `navigator.credentials.create()`. They require a discoverable credential and user verification, exclude the passkeys that the user already has, and request no attestation. A user can have 10 passkeys. The first factor of a user who must have one, or whose factors were reset, needs `mail_code`.
         *
         *     Permission: `any login`; not available to API keys
         *
         *     Requires a fresh authentication.
         */
        post: operations["createPasskeyOptions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/factor/passkey": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add a passkey
         * @description Adds the passkey that the browser created for the options. Members of `passkey` that the service does not need are ignored. The first factor of a user ends all other sessions of the user and returns recovery codes.
         *
         *     Permission: `any login`; not available to API keys
         *
         *     Requires a fresh authentication.
         */
        post: operations["addPasskey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/{user_id}/factor/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the second factors of a user
         * @description Only confirmed factors. Never contains a secret.
         *
         *     Permission: `user:read`
         */
        get: operations["listUserFactors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/{user_id}/factor/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Reset the second factors of a user
         * @description Removes all factors and recovery codes of another user, ends the sessions of the user, and notifies the user by mail. Does nothing if the user has no factor.
         *
         *     Permission: `user:reset_factors`; not available to API keys
         *
         *     Requires a fresh authentication.
         */
        delete: operations["resetUserFactors"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/{user_id}/factor/{factor_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a second factor of a user
         * @description Removes one factor of another user, ends the sessions of the user, and notifies the user by mail. With the last factor, the recovery codes are removed, too.
         *
         *     Permission: `user:reset_factors`; not available to API keys
         *
         *     Requires a fresh authentication.
         */
        delete: operations["removeUserFactor"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/{user_id}/login-check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check why a user cannot log in
         * @description Returns why the user cannot log in, and what a login requires besides the password. Contains `mails` only with `mail:manage`, and `recent_refusals` only with `audit:read`. Finds deleted users with `user:read_deleted`. Reads the last 1,000 events of the user.
         *
         *     Permission: `user:read`
         */
        get: operations["checkLogin"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/{user_id}/unlock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unlock a user
         * @description Lifts the lockouts after wrong passwords and after wrong codes of second factors, for all addresses. Has no effect on a user who is not locked. Users cannot unlock themselves.
         *
         *     Permission: `user:update`; not available to API keys
         */
        post: operations["unlockUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/{user_id}/secure": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Secure the account of a user
         * @description For an account whose password another person may know. Voids the password, all mailed links, unfinished logins and a proposed address, ends all sessions, and mails a link to choose a new password. Until the user chooses one, only a passkey that was kept logs the user in. The status does not change. An invited user gets a new invitation, and a disabled user gets the mail when enabled.
         *
         *     Permission: `user:update`
         *
         *     Requires a fresh authentication.
         */
        post: operations["secureUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook/create": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a webhook
         * @description Sends each later change that `GET /change/list` shows to the creator, as a signed request (Standard Webhooks 1.0): in the order of the feed, one at a time, at least once. A 2xx response is a success. A 410 response disables the webhook. Otherwise the request is sent again: first after 5 seconds, then with exponential back-off, up to an hour. After 3 days without success, the webhook is disabled. The creator gets a mail if the service disables the webhook. A webhook never sends more than its creator may read at that time. It is disabled if the creator is disabled or deleted, or loses `webhook:manage` or `change:read`.
         *
         *     The target must not be a private, reserved or local address, unless `WEBHOOK_ALLOWED_NETWORKS` names it. Redirects are not followed.
         *
         *     Permission: `webhook:manage`; not available to API keys
         *
         *     Requires a fresh authentication.
         */
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhooks
         * @description Returns the webhooks of Carrier Users within the scope. A caller without a scope also sees all webhooks of System Users. Other callers see only the webhooks that they created.
         *
         *     Permission: `webhook:manage`
         */
        get: operations["listWebhooks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook/{webhook_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a webhook
         * @description Permission: `webhook:manage`
         */
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook
         * @description No request is sent after the response. If a request is under way, the response waits for it, at most 15 seconds.
         *
         *     Permission: `webhook:manage`
         */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        /**
         * Modify a webhook
         * @description Absent fields stay unchanged. Takes effect on the next request of the webhook.
         *
         *     Permission: `webhook:manage`; not available to API keys
         *
         *     Requires a fresh authentication.
         */
        patch: operations["changeWebhook"];
        trace?: never;
    };
    "/webhook/{webhook_id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test a webhook
         * @description Sends a request of the type `webhook.test`. Its result is in the list of deliveries.
         *
         *     Permission: `webhook:manage`
         */
        post: operations["testWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook/{webhook_id}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Disable a webhook
         * @description The webhook stays at its place in the feed. A request that is under way continues.
         *
         *     Permission: `webhook:manage`
         */
        post: operations["disableWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook/{webhook_id}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enable a webhook
         * @description Continues where the webhook stopped, or after the given cursor or time.
         *
         *     Permission: `webhook:manage`
         */
        post: operations["enableWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook/{webhook_id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send changes again
         * @description Moves the webhook back or forward to a cursor or time, and sends all changes after it.
         *
         *     Permission: `webhook:manage`
         */
        post: operations["replayWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook/{webhook_id}/skip": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Skip a change that fails
         * @description Continues with the change after the one that fails. Has no effect unless the webhook is `failing`.
         *
         *     Permission: `webhook:manage`
         */
        post: operations["skipWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook/{webhook_id}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace the secret of a webhook
         * @description Both secrets sign until `old_secret_until`. Another rotation before this time removes the oldest secret.
         *
         *     Permission: `webhook:manage`; not available to API keys
         *
         *     Requires a fresh authentication.
         */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook/{webhook_id}/delivery/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the deliveries of a webhook
         * @description Returns the attempts of the last 7 days, at most the last 10,000, and the waiting tests and retries.
         *
         *     Permission: `webhook:manage`
         */
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook/{webhook_id}/delivery/{delivery_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry a delivery
         * @description Sends the change of the delivery once more, out of the order of the feed.
         *
         *     Permission: `webhook:manage`
         */
        post: operations["retryDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/reset_email": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reset a password by e-mail
         * @description Always returns the same response in the same time, whether the address is known or not. Mails at most one link per address in 5 minutes, 3 in an hour and 10 in a day, and at most 3 invitations in an hour. Requests from IP addresses from which the user logged in within 30 days have separate limits. The mail is sent within about 5 seconds.
         */
        post: operations["requestPasswordReset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/reset/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check a link to set a password
         * @description Does not use up the link, so mail scanners do no harm. With `Accept: text/html`, the response is a page whose form posts to this path and needs no script.
         */
        get: operations["checkResetLink"];
        put?: never;
        /**
         * Set a password with a link
         * @description Sets the password. The link works once. All sessions of the user end, the user gets a mail, and an invited user becomes active. A link with the kind `not_me` also restores the address that it was mailed to, revokes API keys, disables webhooks and removes second factors that were added since the first change that it undoes. A rejected password does not use up the link. At most 8 new passwords of a user are processed at the same time; further requests return 429. With `Accept: text/html`, the response is a page whose form posts to this path and needs no script.
         */
        post: operations["resetPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/email": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change your own e-mail address
         * @description The new address takes effect once it is confirmed by mailed link within 24 h. The old address gets a notice. After a reset of the second factors, enrol one first.
         *
         *     Permission: `any login`; not available to API keys
         */
        post: operations["changeEmail"];
        /**
         * Cancel your new e-mail address
         * @description Drops the address that is not confirmed yet, and voids its link.
         *
         *     Permission: `any login`; not available to API keys
         */
        delete: operations["cancelEmail"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/email/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check a link to confirm an address
         * @description Does not use up the link. With `Accept: text/html`, the response is a page whose form posts to this path and needs no script.
         */
        get: operations["checkEmailLink"];
        put?: never;
        /**
         * Confirm an e-mail address
         * @description Confirms exactly the address that the link was mailed to. The link works once. With `Accept: text/html`, the response is a page whose form posts to this path and needs no script.
         */
        post: operations["confirmEmail"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/stats/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the overview
         * @description Returns the figures of the start page: users by status, live sessions, logins of the last 24 hours, running operations and what needs attention, within the carriers of the caller. A job counts users, sessions, logins and failed mails every minute, or less often if a count takes longer than 600 ms. `as_of` is the time of the last count, and `age_seconds` its age. Expiring API keys require `key:manage`, mails `mail:manage`, webhooks `webhook:manage`, and attacks `audit:read`: more than 30 rejected logins in the last hour, and more than three times the usual number. `health` is for System Users without a carrier scope, and at most a minute old.
         *
         *     Permission: `user:read`
         */
        get: operations["getOverview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/stats/attacks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the attacks of the last 24 hours
         * @description Counts the rejected logins (`login.failed`) of the last 24 hours, at most the last 200,000, by network and by user. The result is at most 10 seconds old. Callers with a scope see only logins of users within the scope, so none with an unknown name, and no blocks.
         *
         *     Permission: `audit:read`
         */
        get: operations["getAttacks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the name, the version and the links of the service */
        get: operations["getService"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        /** Check that the service responds, without a body */
        head: operations["headService"];
        patch?: never;
        trace?: never;
    };
    "/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check whether the process is running */
        get: operations["getLiveness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        /** Check whether the process is running, without a body */
        head: operations["headLiveness"];
        patch?: never;
        trace?: never;
    };
    "/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check whether the service can handle requests
         * @description Responds with 503 while the database is unavailable or read-only, and after SIGTERM.
         */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        /**
         * Check whether the service can handle requests, without a body
         * @description Responds with 503 while the database is unavailable or read-only, and after SIGTERM.
         */
        head: operations["headReadiness"];
        patch?: never;
        trace?: never;
    };
    "/mail/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List waiting and failed mails
         * @description Lists the mails to users within the scope that are not sent yet. Failed mails are retried with back-off, in at most 25 attempts in about four days. `state_in=retrying,failed` returns the mails with a failed attempt.
         *
         *     Permission: `mail:manage`
         */
        get: operations["listMails"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/mail/{mail_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a waiting or failed mail now
         * @description Starts the next attempt within seconds, and resets the number of attempts. If the mail contains a link, the link is new. An invitation or confirmation is delayed again if its address has received three in the last hour. A mail that is no longer needed, such as an invitation of an active user, is dropped.
         *
         *     Permission: `mail:manage`
         */
        post: operations["retryMail"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description One event of the audit log. */
        EventResponse: {
            /**
             * Format: uuid
             * @description UUIDv7
             * @example 0192f0c4-2f10-7b6d-8e93-5a4b3c2d1e0f
             */
            event_id: string;
            /**
             * @description what happened, such as `user.changed`: the description of `GET /audit/list` explains each type. Later versions may add types
             * @example user.changed
             */
            event_type: string;
            /**
             * Format: date-time
             * @description time of the event, RFC 3339
             * @example 2026-11-20T13:00:00.000Z
             */
            occurred_at: string;
            /**
             * Format: uuid
             * @description id of the user or API key that acted; null if the service acted
             * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
             */
            actor_id: string | null;
            /**
             * @description kind of actor: a user, an API key or the service itself
             * @example user
             */
            actor_type: components["schemas"]["ActorType"];
            /**
             * @description kind of target, such as `user`, `session`, `role` or `webhook`
             * @example user
             */
            target_type: string | null;
            /**
             * Format: uuid
             * @description id of the target: what the event is about
             * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
             */
            target_id: string | null;
            /**
             * @description carrier of the user concerned
             * @example acme
             */
            carrier_id: string | null;
            /**
             * Format: uuid
             * @description bulk change that the event is part of
             * @example 0192f0c3-9e21-7a54-b1d7-4c5b6a798897
             */
            operation_id: string | null;
            /**
             * Format: uuid
             * @description session of the request
             * @example 0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c
             */
            session_id: string | null;
            /**
             * @description IP address of the request
             * @example 203.0.113.7
             */
            ip: string | null;
            /**
             * @description id of the request
             * @example a3c1f6de-52b8-4f0e-9d27-6b8e1c0f4a95
             */
            request_id: string | null;
            /**
             * @description `{ field: { before, after } }` of each changed field; never a secret
             * @example {
             *       "locale": {
             *         "before": "de",
             *         "after": "en-GB"
             *       }
             *     }
             */
            changes: {
                [key: string]: unknown;
            };
        };
        /** @description Number of rows that match the filter. */
        PageTotalResponse: {
            /**
             * @description `eq` for an exact number, `approx` for an estimate of the planner
             * @example eq
             */
            relation: components["schemas"]["CountRelation"];
            /**
             * Format: int64
             * @description number of rows
             * @example 1234
             */
            value: number;
        };
        /** @description A page of events. */
        AuditListResponse: {
            /** @description newest first unless sorted otherwise */
            items: components["schemas"]["EventResponse"][];
            /**
             * Format: int64
             * @description requested number of rows
             * @example 50
             */
            per_page: number;
            /**
             * Format: int64
             * @description number of the page, only for requests with `page`
             * @example 1
             */
            page?: number;
            /**
             * @description value of `cursor` for the next page; null on the last page
             * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
             */
            next_cursor: string | null;
            /** @description number of rows that match the filter; null with `count=none` */
            total: components["schemas"]["PageTotalResponse"] | null;
        };
        /** @description One change of a user, session, role or API key. */
        ChangeResponse: {
            /**
             * @description kind of target
             * @example user
             */
            target_type: components["schemas"]["ChangedTarget"];
            /**
             * Format: uuid
             * @description id of the change, the `event_id` of the audit log
             * @example 0192f0c4-2f10-7b6d-8e93-5a4b3c2d1e0f
             */
            change_id: string;
            /**
             * @description what happened, such as `user.changed`. Later versions may add types
             * @example user.changed
             */
            type: string;
            /**
             * Format: date-time
             * @description beginning of the transaction of the change, RFC 3339
             * @example 2026-11-20T13:00:00.000Z
             */
            occurred_at: string;
            /**
             * @description id of the user, session or API key, or name of the role
             * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
             */
            target_id: string;
            /**
             * @description carrier of the user concerned
             * @example acme
             */
            carrier_id: string | null;
            /**
             * Format: int64
             * @description version of the user after the change, if the change recorded it
             * @example 7
             */
            version?: number;
            /**
             * @description names of the changed fields, without their values
             * @example [
             *       "locale"
             *     ]
             */
            fields: string[];
            /**
             * @description the user as `GET /user/{user_id}` shows it now, without `attributes` and `last_login_ip`. Only with `include=values`, and only if the user is not deleted
             * @example {
             *       "name": "ada",
             *       "locale": "en-GB"
             *     }
             */
            values?: {
                [key: string]: unknown;
            };
        };
        /** @description A page of changes. */
        ChangeListResponse: {
            /** @description in the order of the feed */
            items: components["schemas"]["ChangeResponse"][];
            /**
             * @description value of `after` for the next request; never null
             * @example WyI5MTQiLCIwMTkyIl0.mZ4kTq1v
             */
            next_cursor: string;
            /**
             * Format: int64
             * @description age in seconds of the oldest change that is still to come, rounded up; 0 if there is none. The change is on the next page, or an open transaction holds it back
             * @example 0
             */
            behind_seconds: number;
        };
        /** @description A role. */
        RoleResponse: {
            /**
             * @description 1–64 characters, unique
             * @example support
             */
            name: string;
            /**
             * @description purpose of the role
             * @example Helps users of all carriers
             */
            description: string;
            /**
             * @description types of users that the role can be granted to
             * @example [
             *       "carrier"
             *     ]
             */
            user_types: components["schemas"]["UserType"][];
            /**
             * @description permissions as `module:action`, or `*` for all
             * @example [
             *       "user:read"
             *     ]
             */
            permissions: string[];
            /**
             * @description roles that holders may grant and revoke, in addition to roles whose permissions they hold
             * @example [
             *       "carrier_user"
             *     ]
             */
            may_grant: string[];
            /**
             * Format: date-time
             * @description time from which users with the role need a second factor; null = not required
             * @example 2026-11-20T13:00:00.000Z
             */
            second_factor_required_from: string | null;
            /**
             * @description true for roles of which only `second_factor_required_from` can be changed
             * @example false
             */
            built_in: boolean;
            /**
             * Format: int64
             * @description increases with each change; the `ETag`
             * @example 3
             */
            version: number;
        };
        /** @description A new role. */
        CreateRoleRequest: {
            /**
             * @description 1–64 letters, digits, `.`, `_` or `-`, not beginning with `.`; unique without regard to case; cannot be changed later; not `list` or `create`
             * @example support
             */
            name: string;
            /**
             * @description purpose of the role, up to 500 characters; null = none
             * @example Helps users of all carriers
             */
            description?: string | null;
            /**
             * @description types of users that the role can be granted to, at least one
             * @example [
             *       "carrier"
             *     ]
             */
            user_types: components["schemas"]["UserType"][];
            /**
             * @description permissions as `module:action` (up to 64 lower-case letters, digits, `_` or `-` on either side), or `*` for all; only permissions that the caller holds
             * @example [
             *       "user:read"
             *     ]
             */
            permissions?: string[];
            /**
             * @description roles that holders may grant and revoke, in addition to roles whose permissions they hold; only roles that the caller may grant
             * @example [
             *       "carrier_user"
             *     ]
             */
            may_grant?: string[];
            /**
             * Format: date-time
             * @description time from which users with the role need a second factor, in the past or future; null = not required
             * @example 2026-11-20T13:00:00.000Z
             */
            second_factor_required_from?: string | null;
        };
        /** @description All roles. */
        RoleListResponse: {
            /** @description roles, sorted by name */
            items: components["schemas"]["RoleResponse"][];
        };
        /** @description Changes to a role. Absent fields stay unchanged (RFC 7396). */
        ChangeRoleRequest: {
            /**
             * @description purpose of the role, up to 500 characters; null clears it
             * @example Helps users of all carriers
             */
            description?: string | null;
            /**
             * @description types of users that the role can be granted to, at least one; a type cannot be removed while users of this type have the role
             * @example [
             *       "carrier"
             *     ]
             */
            user_types?: components["schemas"]["UserType"][];
            /**
             * @description all permissions after the change; only permissions that the caller holds
             * @example [
             *       "user:read"
             *     ]
             */
            permissions?: string[];
            /**
             * @description all roles that holders may grant and revoke after the change; only roles that the caller may grant
             * @example [
             *       "carrier_user"
             *     ]
             */
            may_grant?: string[];
            /**
             * Format: date-time
             * @description time from which users with the role need a second factor, in the past or future; null = not required
             * @example 2026-11-20T13:00:00.000Z
             */
            second_factor_required_from?: string | null;
        };
        /** @description One login. Contains no token; the id is not a secret. */
        SessionResponse: {
            /**
             * Format: uuid
             * @description UUIDv7
             * @example 0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c
             */
            session_id: string;
            /**
             * Format: uuid
             * @description id of the user
             * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
             */
            user_id: string;
            /**
             * @description kind of user
             * @example carrier
             */
            user_type: components["schemas"]["UserType"];
            /**
             * @description login name of the user
             * @example ada
             */
            name: string;
            /**
             * @description carrier of a Carrier User
             * @example acme
             */
            carrier_id: string | null;
            /**
             * @description whether this request belongs to the session
             * @example true
             */
            current: boolean;
            /**
             * Format: date-time
             * @description time of the login
             * @example 2026-11-20T13:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description last activity, to the minute
             * @example 2026-11-20T13:00:00.000Z
             */
            last_seen_at: string;
            /**
             * Format: date-time
             * @description expiry without activity; activity postpones it up to the maximum age of a session
             * @example 2026-11-20T13:00:00.000Z
             */
            expires_at: string;
            /**
             * Format: date-time
             * @description last time the user authenticated: the login or a reauthentication
             * @example 2026-11-20T13:00:00.000Z
             */
            auth_time: string;
            /**
             * @description methods of the authentication (RFC 8176): `pwd`, `otp`, `hwk` or `swk` with `user`, and `mfa` after two factors
             * @example [
             *       "pwd",
             *       "otp",
             *       "mfa"
             *     ]
             */
            amr: string[];
            /**
             * @description address of the login
             * @example 203.0.113.7
             */
            ip: string | null;
            /**
             * @description user agent of the login, at most 512 characters
             * @example Mozilla/5.0 (X11; Linux x86_64) Firefox/131.0
             */
            user_agent: string | null;
            /**
             * @description browser and version according to the user agent, such as `Chrome 130`; name of another program, such as `curl 8`; null if unknown
             * @example Firefox 131
             */
            browser: string | null;
            /**
             * @description operating system according to the user agent, such as `iOS 18`; without a version if browsers hide it (`macOS`, `Windows 10 or 11`); null if unknown
             * @example Linux
             */
            os: string | null;
            /**
             * @description `desktop`, `mobile`, `tablet`, `tv` or `bot` according to the user agent; null for other programs or if unknown
             * @example desktop
             */
            device: string | null;
            /**
             * @description whether the session is live: neither ended nor expired
             * @example true
             */
            active: boolean;
            /**
             * Format: date-time
             * @description end or expiry of the session; null while it is live
             * @example 2026-11-20T13:00:00.000Z
             */
            ended_at: string | null;
            /**
             * @description why the session ended; null while it is live
             * @example revoked
             */
            ended_reason: components["schemas"]["SessionEndReason"] | null;
            /**
             * Format: uuid
             * @description user or API key that ended the session; null if the service ended it
             * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
             */
            ended_by: string | null;
        };
        /** @description A page of sessions. */
        SessionListResponse: {
            /** @description newest first unless sorted otherwise */
            items: components["schemas"]["SessionResponse"][];
            /**
             * Format: int64
             * @description requested number of rows
             * @example 50
             */
            per_page: number;
            /**
             * Format: int64
             * @description number of the page, only for requests with `page`
             * @example 1
             */
            page?: number;
            /**
             * @description value of `cursor` for the next page; null on the last page
             * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
             */
            next_cursor: string | null;
            /** @description number of rows that match the filter; null with `count=none` */
            total: components["schemas"]["PageTotalResponse"] | null;
        };
        /** @description Number of sessions that were ended. */
        EndedSessionsResponse: {
            /**
             * Format: int64
             * @description number of live sessions that were ended
             * @example 3
             */
            ended: number;
        };
        /** @description An API key together with its new secret. */
        CreatedKeyResponse: {
            /**
             * @description the key itself, `cik_` and 43 characters: send it as `Authorization: Bearer …`. No other response contains it
             * @example cik_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
             */
            key: string;
            /**
             * Format: uuid
             * @description UUIDv7
             * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
             */
            key_id: string;
            /**
             * @description display name
             * @example billing
             */
            name: string;
            /**
             * @description `module:action`, or `*` for all
             * @example [
             *       "user:read"
             *     ]
             */
            permissions: string[];
            /**
             * @description user type of the creator: the key sees the same kinds of users
             * @example carrier
             */
            user_type: components["schemas"]["UserType"];
            /**
             * @description carrier that the key belongs to, if a Carrier User created it
             * @example acme
             */
            carrier_id: string | null;
            /**
             * @description carriers that the key is limited to; null = all, or only `carrier_id` if that is set
             * @example [
             *       "acme"
             *     ]
             */
            carrier_scope: string[] | null;
            /**
             * @description whether the key is active: neither expired, suspended nor revoked
             * @example true
             */
            active: boolean;
            /**
             * Format: date-time
             * @description time of creation, RFC 3339 in UTC
             * @example 2026-11-20T13:00:00.000Z
             */
            created_at: string;
            /**
             * Format: uuid
             * @description user who created the key; the key stays active without this user
             * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
             */
            created_by: string;
            /**
             * Format: date-time
             * @description time of expiry
             * @example 2026-11-20T13:00:00.000Z
             */
            expires_at: string;
            /**
             * Format: date-time
             * @description time of the last use, to the minute
             * @example 2026-11-20T13:00:00.000Z
             */
            last_used_at: string | null;
            /**
             * @description IP address of the last request with the key; introspection of the key does not change it
             * @example 203.0.113.7
             */
            last_used_ip: string | null;
            /**
             * Format: date-time
             * @description time of revocation
             * @example 2026-11-20T13:00:00.000Z
             */
            revoked_at: string | null;
            /**
             * Format: uuid
             * @description user or key that revoked the key
             * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
             */
            revoked_by: string | null;
            /**
             * Format: date-time
             * @description time of suspension by `POST /user/{user_id}/secure`; null if the key is not suspended
             * @example 2026-11-20T13:00:00.000Z
             */
            suspended_at: string | null;
            /**
             * Format: date-time
             * @description time until which the old secret works after a rotation; null if no old secret works
             * @example 2026-11-20T13:00:00.000Z
             */
            previous_until: string | null;
            /**
             * Format: date-time
             * @description time of the last use of the old secret since the rotation, to the minute; null = not used
             * @example 2026-11-20T13:00:00.000Z
             */
            previous_last_used_at: string | null;
        };
        /** @description A new API key. */
        CreateKeyRequest: {
            /**
             * @description display name, 1–100 characters; need not be unique
             * @example billing
             */
            name: string;
            /**
             * @description 1–200 permissions that the caller holds: `module:action` as in roles, or `*` for all
             * @example [
             *       "user:read"
             *     ]
             */
            permissions: string[];
            /**
             * Format: date-time
             * @description time of expiry, RFC 3339; in the future, at most one year ahead
             * @example 2027-06-30T00:00:00Z
             */
            expires_at: string;
            /**
             * @description carriers that the key is limited to; null or absent = all, `[]` = none. For System Users only; must lie within the caller's own scope
             * @example [
             *       "acme"
             *     ]
             */
            carrier_scope?: string[] | null;
        };
        /** @description An API key, without the key itself. */
        KeyResponse: {
            /**
             * Format: uuid
             * @description UUIDv7
             * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
             */
            key_id: string;
            /**
             * @description display name
             * @example billing
             */
            name: string;
            /**
             * @description `module:action`, or `*` for all
             * @example [
             *       "user:read"
             *     ]
             */
            permissions: string[];
            /**
             * @description user type of the creator: the key sees the same kinds of users
             * @example carrier
             */
            user_type: components["schemas"]["UserType"];
            /**
             * @description carrier that the key belongs to, if a Carrier User created it
             * @example acme
             */
            carrier_id: string | null;
            /**
             * @description carriers that the key is limited to; null = all, or only `carrier_id` if that is set
             * @example [
             *       "acme"
             *     ]
             */
            carrier_scope: string[] | null;
            /**
             * @description whether the key is active: neither expired, suspended nor revoked
             * @example true
             */
            active: boolean;
            /**
             * Format: date-time
             * @description time of creation, RFC 3339 in UTC
             * @example 2026-11-20T13:00:00.000Z
             */
            created_at: string;
            /**
             * Format: uuid
             * @description user who created the key; the key stays active without this user
             * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
             */
            created_by: string;
            /**
             * Format: date-time
             * @description time of expiry
             * @example 2026-11-20T13:00:00.000Z
             */
            expires_at: string;
            /**
             * Format: date-time
             * @description time of the last use, to the minute
             * @example 2026-11-20T13:00:00.000Z
             */
            last_used_at: string | null;
            /**
             * @description IP address of the last request with the key; introspection of the key does not change it
             * @example 203.0.113.7
             */
            last_used_ip: string | null;
            /**
             * Format: date-time
             * @description time of revocation
             * @example 2026-11-20T13:00:00.000Z
             */
            revoked_at: string | null;
            /**
             * Format: uuid
             * @description user or key that revoked the key
             * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
             */
            revoked_by: string | null;
            /**
             * Format: date-time
             * @description time of suspension by `POST /user/{user_id}/secure`; null if the key is not suspended
             * @example 2026-11-20T13:00:00.000Z
             */
            suspended_at: string | null;
            /**
             * Format: date-time
             * @description time until which the old secret works after a rotation; null if no old secret works
             * @example 2026-11-20T13:00:00.000Z
             */
            previous_until: string | null;
            /**
             * Format: date-time
             * @description time of the last use of the old secret since the rotation, to the minute; null = not used
             * @example 2026-11-20T13:00:00.000Z
             */
            previous_last_used_at: string | null;
        };
        /** @description A page of API keys. */
        KeyListResponse: {
            /** @description newest first unless sorted otherwise */
            items: components["schemas"]["KeyResponse"][];
            /**
             * Format: int64
             * @description requested number of rows
             * @example 50
             */
            per_page: number;
            /**
             * Format: int64
             * @description number of the page, only for requests with `page`
             * @example 1
             */
            page?: number;
            /**
             * @description value of `cursor` for the next page; null on the last page
             * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
             */
            next_cursor: string | null;
            /** @description number of rows that match the filter; null with `count=none` */
            total: components["schemas"]["PageTotalResponse"] | null;
        };
        /** @description How long the old secret of an API key works, and when the key expires. */
        RotateKeyRequest: {
            /**
             * Format: int32
             * @description seconds for which the old secret keeps working, 0–604,800, but not beyond the expiry that it had before the rotation
             * @example 86400
             */
            keep_old_seconds: number;
            /**
             * Format: date-time
             * @description new time of expiry, RFC 3339; in the future, at most one year ahead; absent = unchanged
             * @example 2027-06-30T00:00:00Z
             */
            expires_at?: string;
        };
        /** @description An address block. */
        AddressBlockResponse: {
            /**
             * Format: uuid
             * @description UUIDv7
             * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
             */
            address_block_id: string;
            /**
             * @description CIDR
             * @example 203.0.113.0/24
             */
            network: string;
            /**
             * @description why the network is blocked
             * @example Password spraying
             */
            reason: string | null;
            /**
             * Format: date-time
             * @description time of creation, RFC 3339 in UTC
             * @example 2026-11-20T13:00:00.000Z
             */
            created_at: string;
            /**
             * Format: uuid
             * @description user or API key that created the block
             * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
             */
            created_by: string;
            /**
             * Format: date-time
             * @description end of the block
             * @example 2026-11-20T13:00:00.000Z
             */
            expires_at: string;
        };
        /** @description A new address block. */
        CreateAddressBlockRequest: {
            /**
             * @description IP address or CIDR; at most a /8 of IPv4 or a /32 of IPv6
             * @example 203.0.113.0/24
             */
            network: string;
            /**
             * @description why the network is blocked, for other operators; up to 200 characters
             * @example Password spraying
             */
            reason?: string | null;
            /**
             * Format: date-time
             * @description end of the block, RFC 3339; in the future, at most 30 days ahead
             * @example 2026-11-21T13:00:00Z
             */
            expires_at: string;
        };
        /** @description A page of address blocks. */
        AddressBlockListResponse: {
            /** @description newest first unless sorted otherwise */
            items: components["schemas"]["AddressBlockResponse"][];
            /**
             * Format: int64
             * @description requested number of rows
             * @example 50
             */
            per_page: number;
            /**
             * Format: int64
             * @description number of the page, only for requests with `page`
             * @example 1
             */
            page?: number;
            /**
             * @description value of `cursor` for the next page; null on the last page
             * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
             */
            next_cursor: string | null;
            /** @description number of rows that match the filter; null with `count=none` */
            total: components["schemas"]["PageTotalResponse"] | null;
        };
        /** @description One invalid field or parameter, or a missing permission. */
        FieldErrorResponse: {
            /**
             * @description JSON pointer into the body, such as `/email` (RFC 6901)
             * @example /email
             */
            pointer?: string;
            /**
             * @description name of a query parameter or header
             * @example per_page
             */
            parameter?: string;
            /**
             * @description stable code: `field.` `required`, `unknown`, `wrong_type`, `malformed`, `not_allowed`, `too_short`, `too_long`, `too_few`, `too_many`, `too_deep`; `parameter.` `unknown`, `malformed`, `not_allowed`, `conflict`, `too_many`; `password.` `too_short`, `too_long`, `common`, `contains_identity`, `breached`, `too_weak`, `unchanged`; `permission.` `missing`, `unknown`
             * @example field.malformed
             */
            code: string;
            /**
             * @description explanation for people
             * @example must be an e-mail address
             */
            detail: string;
            /**
             * @description values in `detail`, for texts that a client translates by `code`: `min` and `max` with their `unit` (by default `characters` for `too_short` and `too_long`, otherwise `items`), `allowed` values, `permission`, `did_you_mean`, `reason`, `line`, `column`, `role`, or the `field` or `parameter` that a value conflicts with
             * @example {
             *       "max": 64
             *     }
             */
            params?: {
                [key: string]: unknown;
            };
            /**
             * @description with `password.too_weak`: what makes the password easy to guess, and what helps. Keys for translated texts; there may be more in the future: `straight_row`, `key_pattern`, `simple_repeat`, `extended_repeat`, `sequences`, `recent_years`, `dates`, `top_ten`, `top_hundred`, `common`, `similar_to_common`, `word_by_itself`, `names_by_themselves`, `common_names`, `user_inputs`, `l33t`, `reverse_words`, `all_uppercase`, `capitalization`, `associated_years`, `repeated`, `longer_keyboard_pattern`, `another_word`
             * @example [
             *       "similar_to_common",
             *       "another_word"
             *     ]
             */
            hints?: string[];
        };
        /** @description A user or row that was skipped. */
        SkippedResponse: {
            /**
             * Format: uuid
             * @description id of the user; absent for rows of a file
             * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
             */
            user_id?: string;
            /**
             * Format: int64
             * @description first line of the row in the file, from 1; absent for users
             * @example 2
             */
            line?: number;
            /**
             * @description JSON pointer to the field of a change that the user cannot have; absent for rows
             * @example /email
             */
            pointer?: string;
            /**
             * @description error code of the rule that protects the user, or of the first error of a row
             * @example access.protected_user
             */
            reason: string;
            /** @description all errors of a row; absent for users */
            errors?: components["schemas"]["FieldErrorResponse"][];
        };
        /** @description A bulk change, the undo of a bulk change, or an import, with its progress. */
        OperationResponse: {
            /**
             * Format: uuid
             * @description UUIDv7
             * @example 0192f0c3-9e21-7a54-b1d7-4c5b6a798897
             */
            operation_id: string;
            /**
             * @description `change`, `delete`, `undo` or `import` (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            kind: "change" | "delete" | "undo" | "import" | (string & {});
            /**
             * @description `receiving` (the file is still being uploaded), `waiting`, `running`, `done`, `canceled` or `failed`
             * @example receiving
             */
            status: components["schemas"]["OperationStatus"];
            /**
             * @description kind of the actor: `user` or `key`
             * @example user
             */
            actor_type: components["schemas"]["OperationActorType"];
            /**
             * Format: uuid
             * @description id of the user or API key that requested the operation
             * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
             */
            actor_id: string;
            /**
             * @description filters and change as they were sent, or the options of an import
             * @example {
             *       "filters": {
             *         "carrier_id": "acme"
             *       },
             *       "change": {
             *         "locale": "en-GB"
             *       }
             *     }
             */
            request: {
                [key: string]: unknown;
            };
            /**
             * Format: int64
             * @description number of matching users, or of rows of the file; fixed when the operation was accepted
             * @example 120
             */
            matched: number;
            /**
             * Format: int64
             * @description number of users or rows that have been processed
             * @example 120
             */
            processed: number;
            /**
             * Format: int64
             * @description users that were changed, deleted, restored or created
             * @example 110
             */
            changed: number;
            /**
             * Format: int64
             * @description users that already had the requested values
             * @example 9
             */
            unchanged: number;
            /**
             * Format: int64
             * @description users or rows that were skipped
             * @example 1
             */
            skipped_count: number;
            /**
             * @description number of skipped users or rows by reason
             * @example {
             *       "access.protected_user": 1
             *     }
             */
            skipped_reasons: {
                [key: string]: number;
            };
            /** @description the first 100 skipped users or rows; `GET /user/operation/{operation_id}/skipped` returns all rows that an import skipped */
            skipped: components["schemas"]["SkippedResponse"][];
            /**
             * Format: int64
             * @description users with second factors, which securing the accounts kept
             * @example 1
             */
            with_factors: number;
            /**
             * Format: int64
             * @description users who created API keys that still work, which securing the accounts kept
             * @example 0
             */
            with_keys: number;
            /**
             * Format: int64
             * @description invited users who were enabled or restored, and whose invitation works again or is sent now
             * @example 2
             */
            links_restored: number;
            /**
             * Format: int64
             * @description invited users who were enabled or restored, and whose invitation has expired
             * @example 0
             */
            links_expired: number;
            /**
             * Format: date-time
             * @description time at which the skipped rows of an import expire; null before its end and without them
             * @example 2026-11-20T13:00:00.000Z
             */
            skipped_until: string | null;
            /**
             * Format: int64
             * @description users or rows per second so far; null before the first batch is done
             * @example 4000
             */
            rate_per_second: number | null;
            /**
             * Format: int64
             * @description remaining seconds at this rate; null unless the operation is running
             * @example 12
             */
            remaining_seconds: number | null;
            /**
             * @description error code of a failed operation
             * @example service.internal_error
             */
            error_code: string | null;
            /**
             * Format: uuid
             * @description operation that this operation undoes
             * @example 0192f0b9-6d3a-7f28-95e1-6b7c8d9eafb0
             */
            undo_of: string | null;
            /**
             * Format: uuid
             * @description operation that undoes or has undone this operation; null again if that operation was canceled, failed, changed no user or skipped users
             * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
             */
            undone_by: string | null;
            /**
             * Format: date-time
             * @description when the operation was requested
             * @example 2026-11-20T13:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description when the first batch was started
             * @example 2026-11-20T13:00:00.000Z
             */
            started_at: string | null;
            /**
             * Format: date-time
             * @description when the operation ended
             * @example 2026-11-20T13:00:00.000Z
             */
            finished_at: string | null;
            /**
             * Format: date-time
             * @description until when the operation can be undone; null if it cannot be undone
             * @example 2026-11-20T13:00:00.000Z
             */
            undo_until: string | null;
        };
        /** @description A page of operations. */
        OperationListResponse: {
            /** @description newest first unless sorted otherwise */
            items: components["schemas"]["OperationResponse"][];
            /**
             * Format: int64
             * @description requested number of rows
             * @example 50
             */
            per_page: number;
            /**
             * Format: int64
             * @description number of the page, only for requests with `page`
             * @example 1
             */
            page?: number;
            /**
             * @description value of `cursor` for the next page; null on the last page
             * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
             */
            next_cursor: string | null;
            /** @description number of rows that match the filter; null with `count=none` */
            total: components["schemas"]["PageTotalResponse"] | null;
        };
        /** @description A user in a preview. Callers without `user:read` see only the id. */
        PreviewedUserResponse: {
            /**
             * Format: uuid
             * @description UUIDv7
             * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
             */
            user_id: string;
            /**
             * @description `system` or `carrier`; never changes
             * @example carrier
             */
            user_type?: components["schemas"]["UserType"];
            /**
             * @description login name
             * @example ada
             */
            name?: string;
            /**
             * @description current e-mail address
             * @example ada@example.com
             */
            email?: string;
            /**
             * @description proposed new e-mail address, not yet confirmed
             * @example ada@example.net
             */
            email_pending?: string | null;
            /**
             * Format: date-time
             * @description time of the last verification of `email`
             * @example 2026-11-20T13:00:00.000Z
             */
            email_verified_at?: string | null;
            /**
             * @description first name, or empty
             * @example Ada
             */
            first_name?: string;
            /**
             * @description last name, or empty
             * @example Lovelace
             */
            last_name?: string;
            /**
             * @description E.164 phone number
             * @example +4312345678
             */
            phone?: string | null;
            /**
             * @description job title
             * @example Head of Operations
             */
            job_title?: string | null;
            /**
             * @description department
             * @example Dispatch
             */
            department?: string | null;
            /**
             * @description BCP 47 language tag
             * @example en-GB
             */
            locale?: string | null;
            /**
             * @description IANA name of the time zone
             * @example Europe/Vienna
             */
            timezone?: string | null;
            /**
             * @description carrier of a Carrier User
             * @example acme
             */
            carrier_id?: string | null;
            /**
             * @description carriers to which a System User is limited; null = all
             * @example [
             *       "acme"
             *     ]
             */
            carrier_scope?: string[] | null;
            /**
             * @description names of roles
             * @example [
             *       "carrier_user"
             *     ]
             */
            roles?: string[];
            /**
             * @description `invited` (no password yet), `active` or `disabled`
             * @example active
             */
            status?: components["schemas"]["UserStatus"];
            /**
             * @description CIDRs from which the user may log in; empty = any
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_ips?: string[];
            /**
             * @description free JSON object
             * @example {
             *       "tier": "gold"
             *     }
             */
            attributes?: {
                [key: string]: unknown;
            };
            /**
             * @description whether the user must change the password before any other request; voids no password
             * @example false
             */
            must_change_password?: boolean;
            /**
             * @description whether the user was seen within the last 5 minutes, in a session that has not ended
             * @example true
             */
            online?: boolean;
            /**
             * @description kinds of the confirmed second factors, `totp` or `passkey`, each once
             * @example [
             *       "totp"
             *     ]
             */
            second_factors?: components["schemas"]["FactorKind"][];
            /**
             * Format: date-time
             * @description time from which the user needs a second factor; null = as the roles require
             * @example 2026-11-20T13:00:00.000Z
             */
            second_factor_required_from?: string | null;
            /**
             * @description whether a second factor is required now and none is enrolled
             * @example true
             */
            must_enroll_second_factor?: boolean;
            /**
             * Format: date-time
             * @description time of creation, RFC 3339 in UTC
             * @example 2026-11-20T13:00:00.000Z
             */
            created_at?: string;
            /**
             * Format: uuid
             * @description user or API key that created the user; null = the service
             * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
             */
            created_by?: string | null;
            /**
             * Format: date-time
             * @description time of the last change of a field
             * @example 2026-11-20T13:00:00.000Z
             */
            updated_at?: string;
            /**
             * Format: date-time
             * @description time of the last login
             * @example 2026-11-20T13:00:00.000Z
             */
            last_login_at?: string | null;
            /**
             * @description IP address of the last login
             * @example 203.0.113.7
             */
            last_login_ip?: string | null;
            /**
             * Format: date-time
             * @description time of the last activity, to the minute
             * @example 2026-11-20T13:00:00.000Z
             */
            last_seen_at?: string | null;
            /**
             * Format: date-time
             * @description time when the password was last set or voided
             * @example 2026-11-20T13:00:00.000Z
             */
            password_changed_at?: string | null;
            /**
             * Format: date-time
             * @description end of the account lockout; IP addresses from which the user logged in within 30 days are exempt. The year 9999 = until the password is reset
             * @example 2026-11-20T13:00:00.000Z
             */
            locked_until?: string | null;
            /**
             * Format: date-time
             * @description time of the deletion; null = not deleted
             * @example 2026-11-20T13:00:00.000Z
             */
            deleted_at?: string | null;
            /**
             * Format: int64
             * @description increases with each change; the `ETag`
             * @example 3
             */
            version?: number;
        };
        /** @description What a bulk change would do. A preview changes nothing. */
        BulkPreviewResponse: {
            /**
             * @description always `preview`; results and operations have other values (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            kind: "preview";
            /**
             * Format: int64
             * @description users that would change
             * @example 110
             */
            would_change: number;
            /** @description the first 20 users that would change, as they are now; only their ids without `user:read` */
            sample: components["schemas"]["PreviewedUserResponse"][];
            /**
             * Format: int64
             * @description with `invite`: mails that will be sent
             * @example 110
             */
            mails: number;
            /**
             * Format: int64
             * @description with `invite`: estimated seconds until the last mail is sent, after the mails in the queue, at the rate of this instance so far; a retry takes longer
             * @example 37
             */
            mails_seconds: number;
            /**
             * @description repeat the request with this token instead of `dry_run` to change exactly the previewed users; if other users match by then, the request fails; valid once
             * @example eyJjIjoiMDE5MmYwYzMifQ.kV7d2RZs
             */
            confirm_token: string;
            /**
             * Format: date-time
             * @description when the token expires
             * @example 2026-11-20T13:00:00.000Z
             */
            expires_at: string;
            /**
             * Format: int64
             * @description users that match the filter
             * @example 120
             */
            matched: number;
            /**
             * Format: int64
             * @description users that already have the requested values
             * @example 9
             */
            unchanged: number;
            /**
             * Format: int64
             * @description users that are skipped because a rule protects them
             * @example 1
             */
            skipped_count: number;
            /**
             * @description number of skipped users by reason: the error code of the rule
             * @example {
             *       "access.protected_user": 1
             *     }
             */
            skipped_reasons: {
                [key: string]: number;
            };
            /** @description the first 100 skipped users */
            skipped: components["schemas"]["SkippedResponse"][];
            /**
             * Format: int64
             * @description with `secure`: users with second factors, which are kept
             * @example 1
             */
            with_factors: number;
            /**
             * Format: int64
             * @description with `secure`: users who created API keys that still work, which are kept
             * @example 0
             */
            with_keys: number;
        };
        /** @description What a bulk change did. */
        BulkResultResponse: {
            /**
             * @description always `result`; previews and operations have other values (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            kind: "result";
            /**
             * Format: uuid
             * @description id of the operation, for an undo and for the events in the audit log
             * @example 0192f0c3-9e21-7a54-b1d7-4c5b6a798897
             */
            operation_id: string;
            /**
             * Format: int64
             * @description users that were changed
             * @example 110
             */
            changed: number;
            /**
             * Format: int64
             * @description invited users who were enabled, and whose invitation works again or is sent now
             * @example 2
             */
            links_restored: number;
            /**
             * Format: int64
             * @description invited users who were enabled, and whose invitation has expired; `invite` sends a new one
             * @example 0
             */
            links_expired: number;
            /**
             * Format: date-time
             * @description until when the change can be undone; null if it cannot, or if no user was changed
             * @example 2026-11-20T13:00:00.000Z
             */
            undo_until: string | null;
            /**
             * Format: int64
             * @description users that match the filter
             * @example 120
             */
            matched: number;
            /**
             * Format: int64
             * @description users that already have the requested values
             * @example 9
             */
            unchanged: number;
            /**
             * Format: int64
             * @description users that are skipped because a rule protects them
             * @example 1
             */
            skipped_count: number;
            /**
             * @description number of skipped users by reason: the error code of the rule
             * @example {
             *       "access.protected_user": 1
             *     }
             */
            skipped_reasons: {
                [key: string]: number;
            };
            /** @description the first 100 skipped users */
            skipped: components["schemas"]["SkippedResponse"][];
            /**
             * Format: int64
             * @description with `secure`: users with second factors, which are kept
             * @example 1
             */
            with_factors: number;
            /**
             * Format: int64
             * @description with `secure`: users who created API keys that still work, which are kept
             * @example 0
             */
            with_keys: number;
        };
        /** @description Changes of all matching users. */
        ChangeFoundUsersRequest: {
            /**
             * @description up to 128 characters; an empty text or null clears it
             * @example Dispatch
             */
            department?: string | null;
            /**
             * @description BCP 47 language tag, also the language of mails; null clears it
             * @example en-GB
             */
            locale?: string | null;
            /**
             * @description IANA name of a known time zone; null clears it
             * @example Europe/Vienna
             */
            timezone?: string | null;
            /**
             * @description `active` requires a password; `invited` enables a disabled user without a password
             * @example active
             */
            status?: components["schemas"]["UserStatus"];
            /**
             * @description names of roles; replaces all roles of the user
             * @example [
             *       "carrier_user"
             *     ]
             */
            roles?: string[];
            /**
             * @description carriers to which a System User is limited; null = all, `[]` = none
             * @example [
             *       "acme"
             *     ]
             */
            carrier_scope?: string[] | null;
            /**
             * @description IP addresses or CIDRs allowed for the user; empty = any. Sessions from other addresses end
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_ips?: string[];
            /**
             * @description merged into the attributes (RFC 7396): null removes a key; limits as in `POST /user/create`
             * @example {
             *       "tier": "gold"
             *     }
             */
            attributes?: {
                [key: string]: unknown;
            };
            /**
             * @description whether the user must change the password before any other request. Does not void the password: a thief who knows it can choose the next password. `POST /user/{user_id}/secure` prevents this
             * @example false
             */
            must_change_password?: boolean;
            /**
             * Format: date-time
             * @description time from which the user needs a second factor, in the past or future; null = as the roles require
             * @example 2026-11-20T13:00:00.000Z
             */
            second_factor_required_from?: string | null;
            /**
             * @description roles to add; not together with `roles`
             * @example [
             *       "carrier_administrator"
             *     ]
             */
            roles_add?: string[];
            /**
             * @description roles to remove; not together with `roles`, and none of `roles_add`
             * @example [
             *       "carrier_user"
             *     ]
             */
            roles_remove?: string[];
            /**
             * @description true removes all second factors and recovery codes, which also needs `user:reset_factors`; not with an API key, and cannot be undone
             * @example true
             */
            reset_second_factors?: boolean;
            /**
             * @description true secures the accounts as `POST /user/{user_id}/secure` does, and keeps second factors and API keys. Cannot be combined with other fields, and cannot be undone
             * @example true
             */
            secure?: boolean;
            /**
             * @description true mails a new invitation to the users who are `invited`, and skips all others. Cannot be combined with other fields, and cannot be undone
             * @example true
             */
            invite?: boolean;
        };
        /** @description One-time link to an export. */
        ExportLinkResponse: {
            /**
             * @description address of the file; works once, for anyone who knows the address, without an access token
             * @example https://identity.example.net/user/export/Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
             */
            url: string;
            /**
             * Format: date-time
             * @description expiry, 60 seconds from now
             * @example 2026-11-20T13:00:00.000Z
             */
            expires_at: string;
        };
        /** @description Result that an import would have. A dry run creates no users. */
        ImportPreviewResponse: {
            /**
             * @description always `preview`; operations have other values (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            kind: "preview";
            /**
             * Format: int64
             * @description number of rows in the file
             * @example 120
             */
            matched: number;
            /**
             * Format: int64
             * @description number of users that would be created
             * @example 110
             */
            would_create: number;
            /**
             * Format: int64
             * @description number of rows whose id, name or address is taken, with `on_conflict=skip`
             * @example 9
             */
            unchanged: number;
            /**
             * Format: int64
             * @description number of new users without a password: the import mails them invitations with `invite=true`
             * @example 100
             */
            mails: number;
            /**
             * Format: int64
             * @description estimated seconds until the last of these mails is sent, after the mails in the queue, at the rate of this instance so far; a retry takes longer
             * @example 34
             */
            mails_seconds: number;
            /**
             * Format: int64
             * @description number of rows that would fail
             * @example 1
             */
            skipped_count: number;
            /**
             * @description number of rows that would fail, by the code of their first error
             * @example {
             *       "access.protected_user": 1
             *     }
             */
            skipped_reasons: {
                [key: string]: number;
            };
            /** @description the first 100 rows that would fail */
            skipped: components["schemas"]["SkippedResponse"][];
        };
        /** @description A row of a file that an import skipped, as it is kept for correction. */
        SkippedRowResponse: {
            /**
             * Format: int64
             * @description first line of the row in the file, from 1
             * @example 2
             */
            line: number;
            /**
             * @description code of the first error
             * @example Password spraying
             */
            reason: string;
            /** @description all errors of the row */
            errors: components["schemas"]["FieldErrorResponse"][];
            /**
             * @description texts by column, as in a CSV file; `password_hash` and a hash in any other column are replaced by `(removed)`, except within `attributes` or longer texts; unknown fields are omitted; a cell of more than 1,000 characters is shortened and ends with `…`, the file contains it whole; null if the row could not be read, or if a user in the row was purged
             * @example {
             *       "user_type": "carrier",
             *       "carrier_id": "acme",
             *       "name": "ada",
             *       "email": "ada.example.com"
             *     }
             */
            cells: {
                [key: string]: string;
            } | null;
        };
        /** @description A page of skipped rows. */
        SkippedRowListResponse: {
            /** @description in the order of the file unless sorted otherwise */
            items: components["schemas"]["SkippedRowResponse"][];
            /**
             * Format: int64
             * @description requested number of rows
             * @example 50
             */
            per_page: number;
            /**
             * Format: int64
             * @description number of the page, only for requests with `page`
             * @example 1
             */
            page?: number;
            /**
             * @description value of `cursor` for the next page; null on the last page
             * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
             */
            next_cursor: string | null;
            /** @description number of rows that match the filter; null with `count=none` */
            total: components["schemas"]["PageTotalResponse"] | null;
        };
        /** @description A user, without any secret. */
        UserResponse: {
            /**
             * Format: uuid
             * @description UUIDv7
             * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
             */
            user_id: string;
            /**
             * @description `system` or `carrier`; never changes
             * @example carrier
             */
            user_type: components["schemas"]["UserType"];
            /**
             * @description login name
             * @example ada
             */
            name: string;
            /**
             * @description current e-mail address
             * @example ada@example.com
             */
            email: string;
            /**
             * @description proposed new e-mail address, not yet confirmed
             * @example ada@example.net
             */
            email_pending: string | null;
            /**
             * Format: date-time
             * @description time of the last verification of `email`
             * @example 2026-11-20T13:00:00.000Z
             */
            email_verified_at: string | null;
            /**
             * @description first name, or empty
             * @example Ada
             */
            first_name: string;
            /**
             * @description last name, or empty
             * @example Lovelace
             */
            last_name: string;
            /**
             * @description E.164 phone number
             * @example +4312345678
             */
            phone: string | null;
            /**
             * @description job title
             * @example Head of Operations
             */
            job_title: string | null;
            /**
             * @description department
             * @example Dispatch
             */
            department: string | null;
            /**
             * @description BCP 47 language tag
             * @example en-GB
             */
            locale: string | null;
            /**
             * @description IANA name of the time zone
             * @example Europe/Vienna
             */
            timezone: string | null;
            /**
             * @description carrier of a Carrier User
             * @example acme
             */
            carrier_id: string | null;
            /**
             * @description carriers to which a System User is limited; null = all
             * @example [
             *       "acme"
             *     ]
             */
            carrier_scope: string[] | null;
            /**
             * @description names of roles
             * @example [
             *       "carrier_user"
             *     ]
             */
            roles: string[];
            /**
             * @description `invited` (no password yet), `active` or `disabled`
             * @example active
             */
            status: components["schemas"]["UserStatus"];
            /**
             * @description CIDRs from which the user may log in; empty = any
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_ips: string[];
            /**
             * @description free JSON object
             * @example {
             *       "tier": "gold"
             *     }
             */
            attributes: {
                [key: string]: unknown;
            };
            /**
             * @description whether the user must change the password before any other request; voids no password
             * @example false
             */
            must_change_password: boolean;
            /**
             * @description whether the user was seen within the last 5 minutes, in a session that has not ended
             * @example true
             */
            online: boolean;
            /**
             * @description kinds of the confirmed second factors, `totp` or `passkey`, each once
             * @example [
             *       "totp"
             *     ]
             */
            second_factors: components["schemas"]["FactorKind"][];
            /**
             * Format: date-time
             * @description time from which the user needs a second factor; null = as the roles require
             * @example 2026-11-20T13:00:00.000Z
             */
            second_factor_required_from: string | null;
            /**
             * @description whether a second factor is required now and none is enrolled
             * @example true
             */
            must_enroll_second_factor: boolean;
            /**
             * Format: date-time
             * @description time of creation, RFC 3339 in UTC
             * @example 2026-11-20T13:00:00.000Z
             */
            created_at: string;
            /**
             * Format: uuid
             * @description user or API key that created the user; null = the service
             * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
             */
            created_by: string | null;
            /**
             * Format: date-time
             * @description time of the last change of a field
             * @example 2026-11-20T13:00:00.000Z
             */
            updated_at: string;
            /**
             * Format: date-time
             * @description time of the last login
             * @example 2026-11-20T13:00:00.000Z
             */
            last_login_at: string | null;
            /**
             * @description IP address of the last login
             * @example 203.0.113.7
             */
            last_login_ip: string | null;
            /**
             * Format: date-time
             * @description time of the last activity, to the minute
             * @example 2026-11-20T13:00:00.000Z
             */
            last_seen_at: string | null;
            /**
             * Format: date-time
             * @description time when the password was last set or voided
             * @example 2026-11-20T13:00:00.000Z
             */
            password_changed_at: string | null;
            /**
             * Format: date-time
             * @description end of the account lockout; IP addresses from which the user logged in within 30 days are exempt. The year 9999 = until the password is reset
             * @example 2026-11-20T13:00:00.000Z
             */
            locked_until: string | null;
            /**
             * Format: date-time
             * @description time of the deletion; null = not deleted
             * @example 2026-11-20T13:00:00.000Z
             */
            deleted_at: string | null;
            /**
             * Format: int64
             * @description increases with each change; the `ETag`
             * @example 3
             */
            version: number;
        };
        /** @description A new user. */
        CreateUserRequest: {
            /**
             * @description up to 100 characters; null clears it
             * @example Ada
             */
            first_name?: string | null;
            /**
             * @description up to 100 characters; null clears it
             * @example Lovelace
             */
            last_name?: string | null;
            /**
             * @description E.164, such as +4312345678; null clears it
             * @example +4312345678
             */
            phone?: string | null;
            /**
             * @description up to 100 characters; an empty text or null clears it
             * @example Head of Operations
             */
            job_title?: string | null;
            /**
             * @description up to 128 characters; an empty text or null clears it
             * @example Dispatch
             */
            department?: string | null;
            /**
             * @description BCP 47 language tag, also the language of mails; null clears it
             * @example en-GB
             */
            locale?: string | null;
            /**
             * @description IANA name of a known time zone; null clears it
             * @example Europe/Vienna
             */
            timezone?: string | null;
            /**
             * @description `system` manages the platform's modules, `carrier` uses its services; never changes
             * @example carrier
             */
            user_type: components["schemas"]["UserType"];
            /**
             * @description login name, 3–64 letters, digits, `.`, `_` or `-`; unique without regard to case
             * @example ada
             */
            name: string;
            /**
             * Format: email
             * @description unique without regard to case; at most 254 characters
             * @example ada@example.com
             */
            email: string;
            /**
             * @description carrier; required for a Carrier User, rejected for a System User
             * @example acme
             */
            carrier_id?: string | null;
            /**
             * @description carriers to which a System User is limited; null = all, `[]` = none
             * @example [
             *       "acme"
             *     ]
             */
            carrier_scope?: string[] | null;
            /**
             * @description names of roles; each role must be open to the `user_type`
             * @example [
             *       "carrier_user"
             *     ]
             */
            roles?: string[];
            /**
             * @description IP addresses or CIDRs from which the user may log in; empty = any
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_ips?: string[];
            /**
             * @description free JSON object of at most 16 KiB, 5 levels and 100 keys in total; integers within ±(2^53 - 1), no NUL
             * @example {
             *       "tier": "gold"
             *     }
             */
            attributes?: {
                [key: string]: unknown;
            };
            /**
             * Format: password
             * @description 15–256 characters (`PASSWORD_MIN_LENGTH` sets the minimum). Without a password, the user is invited by mail to set one. An unused initial password expires after 7 days
             * @example a quiet river under seven bridges
             */
            password?: string;
            /**
             * @description whether the user must change the password at the first login; default true with `password`
             * @example false
             */
            must_change_password?: boolean;
            /**
             * Format: date-time
             * @description time from which the user needs a second factor, in the past or future; null = as the roles require
             * @example 2026-11-20T13:00:00.000Z
             */
            second_factor_required_from?: string | null;
        };
        /** @description A user in a list. Has all fields, except for a deleted user and a caller without `user:read_deleted`. */
        ListedUserResponse: {
            /**
             * Format: uuid
             * @description UUIDv7
             * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
             */
            user_id: string;
            /**
             * @description `system` or `carrier`; never changes
             * @example carrier
             */
            user_type: components["schemas"]["UserType"];
            /**
             * @description carrier of a Carrier User
             * @example acme
             */
            carrier_id: string | null;
            /**
             * Format: date-time
             * @description time of creation, RFC 3339 in UTC
             * @example 2026-11-20T13:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description time of the deletion; null = not deleted
             * @example 2026-11-20T13:00:00.000Z
             */
            deleted_at: string | null;
            /**
             * Format: int64
             * @description increases with each change; the `ETag`
             * @example 3
             */
            version: number;
            /**
             * @description login name
             * @example ada
             */
            name?: string;
            /**
             * @description current e-mail address
             * @example ada@example.com
             */
            email?: string;
            /**
             * @description proposed new e-mail address, not yet confirmed
             * @example ada@example.net
             */
            email_pending?: string | null;
            /**
             * Format: date-time
             * @description time of the last verification of `email`
             * @example 2026-11-20T13:00:00.000Z
             */
            email_verified_at?: string | null;
            /**
             * @description first name, or empty
             * @example Ada
             */
            first_name?: string;
            /**
             * @description last name, or empty
             * @example Lovelace
             */
            last_name?: string;
            /**
             * @description E.164 phone number
             * @example +4312345678
             */
            phone?: string | null;
            /**
             * @description job title
             * @example Head of Operations
             */
            job_title?: string | null;
            /**
             * @description department
             * @example Dispatch
             */
            department?: string | null;
            /**
             * @description BCP 47 language tag
             * @example en-GB
             */
            locale?: string | null;
            /**
             * @description IANA name of the time zone
             * @example Europe/Vienna
             */
            timezone?: string | null;
            /**
             * @description carriers to which a System User is limited; null = all
             * @example [
             *       "acme"
             *     ]
             */
            carrier_scope?: string[] | null;
            /**
             * @description names of roles
             * @example [
             *       "carrier_user"
             *     ]
             */
            roles?: string[];
            /**
             * @description `invited` (no password yet), `active` or `disabled`
             * @example active
             */
            status?: components["schemas"]["UserStatus"];
            /**
             * @description CIDRs from which the user may log in; empty = any
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_ips?: string[];
            /**
             * @description free JSON object
             * @example {
             *       "tier": "gold"
             *     }
             */
            attributes?: {
                [key: string]: unknown;
            };
            /**
             * @description whether the user must change the password before any other request; voids no password
             * @example false
             */
            must_change_password?: boolean;
            /**
             * @description whether the user was seen within the last 5 minutes, in a session that has not ended
             * @example true
             */
            online?: boolean;
            /**
             * @description kinds of the confirmed second factors, `totp` or `passkey`, each once
             * @example [
             *       "totp"
             *     ]
             */
            second_factors?: components["schemas"]["FactorKind"][];
            /**
             * Format: date-time
             * @description time from which the user needs a second factor; null = as the roles require
             * @example 2026-11-20T13:00:00.000Z
             */
            second_factor_required_from?: string | null;
            /**
             * @description whether a second factor is required now and none is enrolled
             * @example true
             */
            must_enroll_second_factor?: boolean;
            /**
             * Format: uuid
             * @description user or API key that created the user; null = the service
             * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
             */
            created_by?: string | null;
            /**
             * Format: date-time
             * @description time of the last change of a field
             * @example 2026-11-20T13:00:00.000Z
             */
            updated_at?: string;
            /**
             * Format: date-time
             * @description time of the last login
             * @example 2026-11-20T13:00:00.000Z
             */
            last_login_at?: string | null;
            /**
             * @description IP address of the last login
             * @example 203.0.113.7
             */
            last_login_ip?: string | null;
            /**
             * Format: date-time
             * @description time of the last activity, to the minute
             * @example 2026-11-20T13:00:00.000Z
             */
            last_seen_at?: string | null;
            /**
             * Format: date-time
             * @description time when the password was last set or voided
             * @example 2026-11-20T13:00:00.000Z
             */
            password_changed_at?: string | null;
            /**
             * Format: date-time
             * @description end of the account lockout; IP addresses from which the user logged in within 30 days are exempt. The year 9999 = until the password is reset
             * @example 2026-11-20T13:00:00.000Z
             */
            locked_until?: string | null;
        };
        /** @description A page of users. */
        UserListResponse: {
            /** @description newest first unless sorted otherwise */
            items: components["schemas"]["ListedUserResponse"][];
            /**
             * @description value of `after` for `GET /change/list`, taken before the page was read: the feed continues with the changes that the page lacks
             * @example WyI5MTQiLCIwMTkyIl0.mZ4kTq1v
             */
            changes_cursor: string;
            /**
             * Format: int64
             * @description requested number of rows
             * @example 50
             */
            per_page: number;
            /**
             * Format: int64
             * @description number of the page, only for requests with `page`
             * @example 1
             */
            page?: number;
            /**
             * @description value of `cursor` for the next page; null on the last page
             * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
             */
            next_cursor: string | null;
            /** @description number of rows that match the filter; null with `count=none` */
            total: components["schemas"]["PageTotalResponse"] | null;
        };
        /** @description Changes of one user. Absent fields stay unchanged, null clears a field (RFC 7396). */
        ChangeUserRequest: {
            /**
             * @description up to 100 characters; null clears it
             * @example Ada
             */
            first_name?: string | null;
            /**
             * @description up to 100 characters; null clears it
             * @example Lovelace
             */
            last_name?: string | null;
            /**
             * @description E.164, such as +4312345678; null clears it
             * @example +4312345678
             */
            phone?: string | null;
            /**
             * @description up to 100 characters; an empty text or null clears it
             * @example Head of Operations
             */
            job_title?: string | null;
            /**
             * @description up to 128 characters; an empty text or null clears it
             * @example Dispatch
             */
            department?: string | null;
            /**
             * @description BCP 47 language tag, also the language of mails; null clears it
             * @example en-GB
             */
            locale?: string | null;
            /**
             * @description IANA name of a known time zone; null clears it
             * @example Europe/Vienna
             */
            timezone?: string | null;
            /**
             * @description `active` requires a password; `invited` enables a disabled user without a password
             * @example active
             */
            status?: components["schemas"]["UserStatus"];
            /**
             * @description names of roles; replaces all roles of the user
             * @example [
             *       "carrier_user"
             *     ]
             */
            roles?: string[];
            /**
             * @description carriers to which a System User is limited; null = all, `[]` = none
             * @example [
             *       "acme"
             *     ]
             */
            carrier_scope?: string[] | null;
            /**
             * @description IP addresses or CIDRs allowed for the user; empty = any. Sessions from other addresses end
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_ips?: string[];
            /**
             * @description merged into the attributes (RFC 7396): null removes a key; limits as in `POST /user/create`
             * @example {
             *       "tier": "gold"
             *     }
             */
            attributes?: {
                [key: string]: unknown;
            };
            /**
             * @description whether the user must change the password before any other request. Does not void the password: a thief who knows it can choose the next password. `POST /user/{user_id}/secure` prevents this
             * @example false
             */
            must_change_password?: boolean;
            /**
             * Format: date-time
             * @description time from which the user needs a second factor, in the past or future; null = as the roles require
             * @example 2026-11-20T13:00:00.000Z
             */
            second_factor_required_from?: string | null;
            /**
             * @description login name, 3–64 letters, digits, `.`, `_` or `-`; unique without regard to case
             * @example ada
             */
            name?: string;
            /**
             * Format: email
             * @description stored as `email_pending` until confirmed by mail; for an invited user it changes at once
             * @example ada@example.com
             */
            email?: string;
        };
        /** @description Numbers of users, without deleted users. */
        CarrierUsersResponse: {
            /**
             * Format: int64
             * @description number of users of any status
             * @example 120
             */
            total: number;
            /**
             * Format: int64
             * @description number of `invited` users, who have no password yet
             * @example 5
             */
            invited: number;
            /**
             * Format: int64
             * @description number of `active` users
             * @example 112
             */
            active: number;
            /**
             * Format: int64
             * @description number of `disabled` users
             * @example 3
             */
            disabled: number;
        };
        /** @description A carrier that has users. */
        CarrierResponse: {
            /**
             * @description id of the carrier
             * @example c-1042
             */
            carrier_id: string;
            /** @description numbers of its users */
            users: components["schemas"]["CarrierUsersResponse"];
        };
        /** @description A page of carriers. */
        CarrierListResponse: {
            /** @description in the order of their ids */
            items: components["schemas"]["CarrierResponse"][];
            /**
             * Format: int64
             * @description requested number of rows
             * @example 50
             */
            per_page: number;
            /**
             * Format: int64
             * @description number of the page, only for requests with `page`
             * @example 1
             */
            page?: number;
            /**
             * @description value of `cursor` for the next page; null on the last page
             * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
             */
            next_cursor: string | null;
            /** @description number of rows that match the filter; null with `count=none` */
            total: components["schemas"]["PageTotalResponse"] | null;
        };
        /** @description A new session. */
        LoginResponse: {
            /**
             * @description JWT; send it as `Authorization: Bearer …`
             * @example eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIwMTkyZjBjMSJ9.c2lnbmF0dXJl
             */
            access_token: string;
            /**
             * @description always `Bearer`
             * @example Bearer
             * @constant
             */
            token_type: "Bearer";
            /**
             * Format: int64
             * @description seconds until the access token expires
             * @example 600
             */
            expires_in: number;
            /**
             * @description opaque; valid for one refresh; absent if `transport` is `cookie`
             * @example r1_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8o
             */
            refresh_token?: string;
            /**
             * Format: int64
             * @description seconds until the session ends without a refresh
             * @example 2592000
             */
            refresh_expires_in: number;
            /**
             * Format: uuid
             * @description the new session
             * @example 0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c
             */
            session_id: string;
            /** @description user who logged in */
            user: components["schemas"]["UserResponse"];
        };
        /** @description Credentials of a user. */
        LoginRequest: {
            /**
             * @description `aud` of the tokens: `carrier-platform` (the default) and names of `TOKEN_AUDIENCES`. Tokens without `carrier-platform` work for modules only
             * @example [
             *       "billing"
             *     ]
             */
            audience?: string[];
            /**
             * @description permissions of the tokens, limited to those of the user; absent = all of these
             * @example [
             *       "user:read"
             *     ]
             */
            permissions?: string[];
            /**
             * @description name or e-mail address, not case-sensitive
             * @example ada
             */
            login: string;
            /**
             * Format: password
             * @description verified exactly as sent
             * @example a quiet river under seven bridges
             */
            password: string;
            /**
             * @description `cookie` = the response sets the refresh token as a cookie; only for pages of the service
             * @example cookie
             */
            transport?: components["schemas"]["RefreshTokenTransport"];
        };
        /** @description State of a valid token. */
        CheckTokenResponse: {
            /**
             * @description always true; an invalid token returns 401
             * @example true
             */
            active: boolean;
            /**
             * @description new access token, if `refreshed` is true
             * @example eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIwMTkyZjBjMSJ9.c2lnbmF0dXJl
             */
            access_token?: string;
            /**
             * @description always `Bearer`
             * @example Bearer
             * @constant
             */
            token_type?: "Bearer";
            /**
             * Format: int64
             * @description seconds until the access token expires
             * @example 600
             */
            expires_in: number;
            /**
             * @description whether the response contains a new access token
             * @example true
             */
            refreshed: boolean;
            /**
             * @description next refresh token, after a rotation; absent if `transport` is `cookie`
             * @example r1_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8o
             */
            refresh_token?: string;
            /**
             * Format: int64
             * @description seconds until the session ends without a refresh, after a rotation
             * @example 2592000
             */
            refresh_expires_in?: number;
            /** @description user of the token */
            user: components["schemas"]["UserResponse"];
            /** @description session of the token */
            session: components["schemas"]["SessionResponse"];
            /**
             * @description current permissions of the user, within the limits of the session
             * @example [
             *       "user:read"
             *     ]
             */
            permissions: string[];
        };
        /** @description Access token to check, or refresh token to rotate. */
        CheckTokenRequest: {
            /**
             * @description `aud` of the tokens: `carrier-platform` (the default) and names of `TOKEN_AUDIENCES`. Tokens without `carrier-platform` work for modules only
             * @example [
             *       "billing"
             *     ]
             */
            audience?: string[];
            /**
             * @description permissions of the tokens, limited to those of the user; absent = all of these
             * @example [
             *       "user:read"
             *     ]
             */
            permissions?: string[];
            /**
             * @description access token of any user, only checked; must not be sent together with `refresh_token`
             * @example eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIwMTkyZjBjMSJ9.c2lnbmF0dXJl
             */
            token?: string;
            /**
             * @description refresh token to rotate, together with its access token
             * @example r1_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8o
             */
            refresh_token?: string;
            /**
             * @description `cookie` = rotates the refresh token in the cookie; only for pages of the service
             * @example cookie
             */
            transport?: components["schemas"]["RefreshTokenTransport"];
        };
        /** @description Session to end. */
        LogoutRequest: {
            /**
             * @description refresh token whose session ends; the access token is then not needed
             * @example r1_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8o
             */
            refresh_token?: string;
            /**
             * @description `cookie` = ends its session and removes the cookie; only for pages of the service
             * @example cookie
             */
            transport?: components["schemas"]["RefreshTokenTransport"];
        };
        /** @description A change of the caller's password. */
        ChangePasswordRequest: {
            /**
             * Format: password
             * @description current password
             * @example a quiet river under seven bridges
             */
            current_password: string;
            /**
             * Format: password
             * @description 15–256 characters (`PASSWORD_MIN_LENGTH` sets the minimum); must not be a common password or contain the name, e-mail address or carrier of the user
             * @example seven bridges over a quiet river
             */
            new_password: string;
        };
        /** @description A public key that verifies access tokens (RFC 7517). */
        JwkResponse: {
            /**
             * @description type of the key: `EC`
             * @example EC
             */
            kty: string;
            /**
             * @description curve of the key: `P-256`
             * @example P-256
             */
            crv: string;
            /**
             * @description x coordinate of the key
             * @example f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU
             */
            x: string;
            /**
             * @description y coordinate of the key
             * @example x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0
             */
            y: string;
            /**
             * @description id of the key: the `kid` of the tokens that it signs
             * @example Qv1yPZ0tS3mJcXn8aR5dLw7hKe2uGb4oTi6fVxYkA9E
             */
            kid: string;
            /**
             * @description algorithm of the signatures: `ES256`
             * @example ES256
             */
            alg: string;
            /**
             * @description use of the key: `sig`, to verify signatures
             * @example sig
             */
            use: string;
        };
        /** @description Public keys (RFC 7517). */
        JwksResponse: {
            /** @description keys that verify access tokens */
            keys: components["schemas"]["JwkResponse"][];
        };
        /** @description Introspection response (RFC 7662 §2.2). For an inactive token, `active` is the only field. */
        IntrospectionResponse: {
            /**
             * @description audience: `carrier-platform`, or the list that the login asked for
             * @example carrier-platform
             */
            aud?: string | string[];
            /**
             * @description whether the token is valid, its session has not ended, and its user is active, or the API key is active; also false if the caller may not introspect the token
             * @example true
             */
            active: boolean;
            /**
             * @description always `Bearer`
             * @example Bearer
             * @constant
             */
            token_type?: "Bearer";
            /**
             * @description issuer: the public URL of the service, with `BASE_PATH`
             * @example https://identity.example.net
             */
            iss?: string;
            /**
             * @description id of the API key; absent for tokens of users
             * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
             */
            client_id?: string;
            /**
             * Format: uuid
             * @description id of the user or API key
             * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
             */
            sub?: string;
            /**
             * Format: uuid
             * @description id of the session
             * @example 0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c
             */
            sid?: string;
            /**
             * Format: uuid
             * @description id of the token
             * @example 0192f0c6-1d2e-7f3a-8b4c-9eafb0c1d2e3
             */
            jti?: string;
            /**
             * Format: int64
             * @description time of issue, in seconds since 1970
             * @example 1795179600
             */
            iat?: number;
            /**
             * Format: int64
             * @description time of expiry, in seconds since 1970
             * @example 1795180200
             */
            exp?: number;
            /**
             * @description current name of the user
             * @example ada
             */
            username?: string;
            /**
             * @description type of the user
             * @example carrier
             */
            user_type?: components["schemas"]["UserType"];
            /**
             * @description carrier of a Carrier User or of their API key
             * @example acme
             */
            carrier_id?: string;
            /**
             * @description carriers that an API key is limited to; null = all. Absent for tokens of users
             * @example [
             *       "acme"
             *     ]
             */
            carrier_scope?: string[] | null;
            /**
             * @description current roles; absent if the session is limited
             * @example [
             *       "carrier_user"
             *     ]
             */
            roles?: string[];
            /**
             * @description authentication methods of the session (RFC 8176); `mfa` after two factors
             * @example [
             *       "pwd",
             *       "otp",
             *       "mfa"
             *     ]
             */
            amr?: string[];
            /**
             * Format: int64
             * @description last time the user authenticated, in seconds since 1970
             * @example 1795179600
             */
            auth_time?: number;
            /**
             * @description current permissions within the limits of the session, separated by spaces; absent if there are none. All known permissions follow `*`
             * @example user:read user:update
             */
            scope?: string;
        };
        /** @description Introspection request (RFC 7662 §2.1). */
        IntrospectionRequest: {
            /**
             * @description access token or API key; refresh tokens are never active
             * @example eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIwMTkyZjBjMSJ9.c2lnbmF0dXJl
             */
            token: string;
            /**
             * @description accepted and ignored
             * @example access_token
             */
            token_type_hint?: string;
            /**
             * @description id of the API key in `client_secret`; otherwise absent, or the id of the caller
             * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
             */
            client_id?: string;
            /**
             * Format: password
             * @description API key, instead of a header (`client_secret_post`)
             * @example cik_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
             */
            client_secret?: string;
        };
        /** @description Authorization server metadata (RFC 8414 §2). */
        AuthorizationServerResponse: {
            /**
             * @description issuer of the tokens: the public URL of the service, with `BASE_PATH`
             * @example https://identity.example.net
             */
            issuer: string;
            /**
             * @description URL of the public keys
             * @example https://identity.example.net/.well-known/jwks.json
             */
            jwks_uri: string;
            /**
             * @description URL of the token introspection
             * @example https://identity.example.net/auth/introspect
             */
            introspection_endpoint: string;
            /**
             * @description ways to send the API key of a module: as a Bearer token, or with its id as client credentials
             * @example [
             *       "Bearer",
             *       "client_secret_basic",
             *       "client_secret_post"
             *     ]
             */
            introspection_endpoint_auth_methods_supported: string[];
            /**
             * @description always empty: the service has no authorization endpoint
             * @example []
             */
            response_types_supported: string[];
            /**
             * @description always empty: the service has no token endpoint
             * @example []
             */
            grant_types_supported: string[];
            /**
             * @description URL of the API explorer
             * @example https://identity.example.net/docs
             */
            service_documentation: string;
        };
        /** @description A new access token of the same session. */
        ReauthenticateResponse: {
            /**
             * @description JWT with the new `auth_time`; send it as `Authorization: Bearer …`
             * @example eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIwMTkyZjBjMSJ9.c2lnbmF0dXJl
             */
            access_token: string;
            /**
             * @description always `Bearer`
             * @example Bearer
             * @constant
             */
            token_type: "Bearer";
            /**
             * Format: int64
             * @description seconds until the access token expires
             * @example 600
             */
            expires_in: number;
        };
        /** @description A proof that the user is present. Exactly one field, or a passkey with its challenge. */
        ReauthenticateRequest: {
            /**
             * Format: password
             * @description password; only for users without a second factor
             * @example a quiet river under seven bridges
             */
            password?: string;
            /**
             * @description current code of an authenticator app
             * @example 492039
             */
            code?: string;
            /**
             * @description unused recovery code; case and separators do not matter
             * @example K3QM-2V7X-ADJW-5RTL-6HNC-ZE4P
             */
            recovery_code?: string;
            /**
             * @description `challenge` of the options; required with `passkey`
             * @example Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
             */
            challenge?: string;
            /**
             * @description result of `navigator.credentials.get()`, as its `toJSON()` returns it
             * @example {
             *       "id": "cGFzc2tleQ",
             *       "rawId": "cGFzc2tleQ",
             *       "type": "public-key",
             *       "response": {
             *         "clientDataJSON": "e30",
             *         "authenticatorData": "AA",
             *         "signature": "AA",
             *         "userHandle": "AA"
             *       },
             *       "clientExtensionResults": {}
             *     }
             */
            passkey?: {
                [key: string]: unknown;
            };
        };
        /** @description WebAuthn options, valid for 5 minutes. */
        PasskeyOptionsResponse: {
            /**
             * @description options for `PublicKeyCredential.parseCreationOptionsFromJSON()` or `parseRequestOptionsFromJSON()` of the browser (WebAuthn Level 3)
             * @example {
             *       "challenge": "ZXhhbXBsZQ",
             *       "rpId": "example.net",
             *       "timeout": 300000,
             *       "userVerification": "required"
             *     }
             */
            options: {
                [key: string]: unknown;
            };
            /**
             * @description send it back together with the passkey
             * @example Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
             */
            challenge: string;
        };
        /** @description The second step of a login: the challenge with exactly one second factor. */
        SecondFactorRequest: {
            /**
             * @description `aud` of the tokens: `carrier-platform` (the default) and names of `TOKEN_AUDIENCES`. Tokens without `carrier-platform` work for modules only
             * @example [
             *       "billing"
             *     ]
             */
            audience?: string[];
            /**
             * @description permissions of the tokens, limited to those of the user; absent = all of these
             * @example [
             *       "user:read"
             *     ]
             */
            permissions?: string[];
            /**
             * @description `challenge` of the response to the login
             * @example Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
             */
            challenge: string;
            /**
             * @description current code of an authenticator app
             * @example 492039
             */
            code?: string;
            /**
             * @description unused recovery code; case and separators do not matter
             * @example K3QM-2V7X-ADJW-5RTL-6HNC-ZE4P
             */
            recovery_code?: string;
            /**
             * @description result of `navigator.credentials.get()`, as its `toJSON()` returns it
             * @example {
             *       "id": "cGFzc2tleQ",
             *       "rawId": "cGFzc2tleQ",
             *       "type": "public-key",
             *       "response": {
             *         "clientDataJSON": "e30",
             *         "authenticatorData": "AA",
             *         "signature": "AA",
             *         "userHandle": "AA"
             *       },
             *       "clientExtensionResults": {}
             *     }
             */
            passkey?: {
                [key: string]: unknown;
            };
            /**
             * @description `cookie` = the response sets the refresh token as a cookie; only for pages of the service
             * @example cookie
             */
            transport?: components["schemas"]["RefreshTokenTransport"];
        };
        /** @description The challenge of a login whose user wants to send a passkey. */
        CreateSecondFactorOptionsRequest: {
            /**
             * @description `challenge` of the response to the login
             * @example Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
             */
            challenge: string;
        };
        /** @description A login with a passkey. */
        LoginWithPasskeyRequest: {
            /**
             * @description `aud` of the tokens: `carrier-platform` (the default) and names of `TOKEN_AUDIENCES`. Tokens without `carrier-platform` work for modules only
             * @example [
             *       "billing"
             *     ]
             */
            audience?: string[];
            /**
             * @description permissions of the tokens, limited to those of the user; absent = all of these
             * @example [
             *       "user:read"
             *     ]
             */
            permissions?: string[];
            /**
             * @description `challenge` of the options
             * @example Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
             */
            challenge: string;
            /**
             * @description result of `navigator.credentials.get()`, as its `toJSON()` returns it
             * @example {
             *       "id": "cGFzc2tleQ",
             *       "rawId": "cGFzc2tleQ",
             *       "type": "public-key",
             *       "response": {
             *         "clientDataJSON": "e30",
             *         "authenticatorData": "AA",
             *         "signature": "AA",
             *         "userHandle": "AA"
             *       },
             *       "clientExtensionResults": {}
             *     }
             */
            passkey: {
                [key: string]: unknown;
            };
            /**
             * @description `cookie` = the response sets the refresh token as a cookie; only for pages of the service
             * @example cookie
             */
            transport?: components["schemas"]["RefreshTokenTransport"];
        };
        /** @description The origins whose pages may use passkeys of the service (WebAuthn Level 3, §5.11). */
        PasskeyOriginsResponse: {
            /**
             * @description origins of `WEBAUTHN_ORIGINS`; empty if passkeys are off
             * @example [
             *       "https://portal.example.net"
             *     ]
             */
            origins: string[];
        };
        /** @description The logged-in user. */
        CurrentUserResponse: {
            /**
             * Format: uuid
             * @description UUIDv7
             * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
             */
            user_id: string;
            /**
             * @description `system` or `carrier`; never changes
             * @example carrier
             */
            user_type: components["schemas"]["UserType"];
            /**
             * @description login name
             * @example ada
             */
            name: string;
            /**
             * @description current e-mail address
             * @example ada@example.com
             */
            email: string;
            /**
             * @description proposed new e-mail address, not yet confirmed
             * @example ada@example.net
             */
            email_pending: string | null;
            /**
             * Format: date-time
             * @description time of the last verification of `email`
             * @example 2026-11-20T13:00:00.000Z
             */
            email_verified_at: string | null;
            /**
             * @description first name, or empty
             * @example Ada
             */
            first_name: string;
            /**
             * @description last name, or empty
             * @example Lovelace
             */
            last_name: string;
            /**
             * @description E.164 phone number
             * @example +4312345678
             */
            phone: string | null;
            /**
             * @description job title
             * @example Head of Operations
             */
            job_title: string | null;
            /**
             * @description department
             * @example Dispatch
             */
            department: string | null;
            /**
             * @description BCP 47 language tag
             * @example en-GB
             */
            locale: string | null;
            /**
             * @description IANA name of the time zone
             * @example Europe/Vienna
             */
            timezone: string | null;
            /**
             * @description carrier of a Carrier User
             * @example acme
             */
            carrier_id: string | null;
            /**
             * @description carriers to which a System User is limited; null = all
             * @example [
             *       "acme"
             *     ]
             */
            carrier_scope: string[] | null;
            /**
             * @description names of roles
             * @example [
             *       "carrier_user"
             *     ]
             */
            roles: string[];
            /**
             * @description `invited` (no password yet), `active` or `disabled`
             * @example active
             */
            status: components["schemas"]["UserStatus"];
            /**
             * @description CIDRs from which the user may log in; empty = any
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_ips: string[];
            /**
             * @description free JSON object
             * @example {
             *       "tier": "gold"
             *     }
             */
            attributes: {
                [key: string]: unknown;
            };
            /**
             * @description whether the user must change the password before any other request; voids no password
             * @example false
             */
            must_change_password: boolean;
            /**
             * @description whether the user was seen within the last 5 minutes, in a session that has not ended
             * @example true
             */
            online: boolean;
            /**
             * @description kinds of the confirmed second factors, `totp` or `passkey`, each once
             * @example [
             *       "totp"
             *     ]
             */
            second_factors: components["schemas"]["FactorKind"][];
            /**
             * Format: date-time
             * @description time from which the user needs a second factor; null = as the roles require
             * @example 2026-11-20T13:00:00.000Z
             */
            second_factor_required_from: string | null;
            /**
             * @description whether a second factor is required now and none is enrolled
             * @example true
             */
            must_enroll_second_factor: boolean;
            /**
             * Format: date-time
             * @description time of creation, RFC 3339 in UTC
             * @example 2026-11-20T13:00:00.000Z
             */
            created_at: string;
            /**
             * Format: uuid
             * @description user or API key that created the user; null = the service
             * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
             */
            created_by: string | null;
            /**
             * Format: date-time
             * @description time of the last change of a field
             * @example 2026-11-20T13:00:00.000Z
             */
            updated_at: string;
            /**
             * Format: date-time
             * @description time of the last login
             * @example 2026-11-20T13:00:00.000Z
             */
            last_login_at: string | null;
            /**
             * @description IP address of the last login
             * @example 203.0.113.7
             */
            last_login_ip: string | null;
            /**
             * Format: date-time
             * @description time of the last activity, to the minute
             * @example 2026-11-20T13:00:00.000Z
             */
            last_seen_at: string | null;
            /**
             * Format: date-time
             * @description time when the password was last set or voided
             * @example 2026-11-20T13:00:00.000Z
             */
            password_changed_at: string | null;
            /**
             * Format: date-time
             * @description end of the account lockout; IP addresses from which the user logged in within 30 days are exempt. The year 9999 = until the password is reset
             * @example 2026-11-20T13:00:00.000Z
             */
            locked_until: string | null;
            /**
             * Format: date-time
             * @description time of the deletion; null = not deleted
             * @example 2026-11-20T13:00:00.000Z
             */
            deleted_at: string | null;
            /**
             * Format: int64
             * @description increases with each change; the `ETag`
             * @example 3
             */
            version: number;
            /**
             * @description permissions of all roles; empty while the user must change the password or enrol a second factor
             * @example [
             *       "user:read"
             *     ]
             */
            permissions: string[];
        };
        /** @description A second factor, without its secret. */
        FactorResponse: {
            /**
             * @description kind of factor
             * @example totp
             */
            kind: components["schemas"]["FactorKind"];
            /**
             * Format: uuid
             * @description UUIDv7
             * @example 0192f0c6-1d2e-7f3a-8b4c-5d6e7f8a9b0c
             */
            factor_id: string;
            /**
             * @description name that the user gave the factor
             * @example Phone
             */
            name: string;
            /**
             * @description product that keeps a passkey; absent if it is not known
             * @example Google Password Manager
             */
            provider?: string;
            /**
             * Format: date-time
             * @description time of creation
             * @example 2026-11-20T13:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description last time that the factor was used; null = never
             * @example 2026-11-20T13:00:00.000Z
             */
            last_used_at: string | null;
            /**
             * @description false until the first code; until then the factor has no effect, and it expires after 10 minutes
             * @example true
             */
            confirmed: boolean;
        };
        /** @description The second factors of a user. */
        FactorListResponse: {
            /** @description oldest first */
            items: components["schemas"]["FactorResponse"][];
            /**
             * Format: int64
             * @description number of unused recovery codes
             * @example 10
             */
            recovery_codes_left: number;
        };
        /** @description An authenticator app to confirm. No other response contains the secret. */
        AddedTotpResponse: {
            /**
             * Format: uuid
             * @description id of the unconfirmed factor
             * @example 0192f0c6-1d2e-7f3a-8b4c-5d6e7f8a9b0c
             */
            factor_id: string;
            /**
             * @description secret of 160 bits in base32, to type into an authenticator app
             * @example JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP
             */
            secret: string;
            /**
             * @description URI with the secret, which apps read from a QR code
             * @example otpauth://totp/ada?secret=JBSWY3DPEHPK3PXP
             */
            otpauth_uri: string;
            /**
             * @description QR code of `otpauth_uri`, an SVG image
             * @example <svg></svg>
             */
            qr_svg: string;
        };
        /** @description A new authenticator app. */
        AddTotpRequest: {
            /**
             * @description name of the factor, 1–64 characters; default: `Authenticator app`
             * @example Phone
             */
            name?: string;
            /**
             * @description code from the mail that was sent at the login; required for the first factor of a user who must have one or whose factors were reset, see `auth.mail_code_required`
             * @example 01234567
             */
            mail_code?: string;
        };
        /** @description A confirmed factor. */
        ConfirmedFactorResponse: {
            /**
             * @description ten single-use codes, with the first factor of a user; no other response contains them
             * @example [
             *       "MFRG-GZDF-MZTW-Q2LK-NNWG-23TP"
             *     ]
             */
            recovery_codes?: string[];
        };
        /** @description The first code of an authenticator app. */
        ConfirmTotpRequest: {
            /**
             * Format: uuid
             * @description id of the unconfirmed factor
             * @example 0192f0c6-1d2e-7f3a-8b4c-5d6e7f8a9b0c
             */
            factor_id: string;
            /**
             * @description six digits that the app shows
             * @example 492039
             */
            code: string;
        };
        /** @description New recovery codes. */
        RecoveryCodesResponse: {
            /**
             * @description ten single-use codes; no other response contains them
             * @example [
             *       "MFRG-GZDF-MZTW-Q2LK-NNWG-23TP"
             *     ]
             */
            recovery_codes: string[];
        };
        /** @description A new name of a factor. */
        RenameFactorRequest: {
            /**
             * @description 1–64 characters
             * @example Phone
             */
            name: string;
        };
        /** @description A request for the options of a new passkey. */
        CreatePasskeyOptionsRequest: {
            /**
             * @description code from the mail that was sent at the login; required for the first factor of a user who must have one or whose factors were reset, see `auth.mail_code_required`
             * @example 01234567
             */
            mail_code?: string;
        };
        /** @description An enrolled passkey. */
        AddedPasskeyResponse: {
            /**
             * @description kind of factor
             * @example totp
             */
            kind: components["schemas"]["FactorKind"];
            /**
             * Format: uuid
             * @description UUIDv7
             * @example 0192f0c6-1d2e-7f3a-8b4c-5d6e7f8a9b0c
             */
            factor_id: string;
            /**
             * @description name that the user gave the factor
             * @example Phone
             */
            name: string;
            /**
             * @description product that keeps a passkey; absent if it is not known
             * @example Google Password Manager
             */
            provider?: string;
            /**
             * Format: date-time
             * @description time of creation
             * @example 2026-11-20T13:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description last time that the factor was used; null = never
             * @example 2026-11-20T13:00:00.000Z
             */
            last_used_at: string | null;
            /**
             * @description false until the first code; until then the factor has no effect, and it expires after 10 minutes
             * @example true
             */
            confirmed: boolean;
            /**
             * @description ten single-use codes, with the first factor of a user; no other response contains them
             * @example [
             *       "MFRG-GZDF-MZTW-Q2LK-NNWG-23TP"
             *     ]
             */
            recovery_codes?: string[];
        };
        /** @description A new passkey. */
        AddPasskeyRequest: {
            /**
             * @description name of the factor, 1–64 characters
             * @example Laptop
             */
            name: string;
            /**
             * @description `challenge` of the options
             * @example Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
             */
            challenge: string;
            /**
             * @description result of `navigator.credentials.create()`, as its `toJSON()` returns it
             * @example {
             *       "id": "cGFzc2tleQ",
             *       "rawId": "cGFzc2tleQ",
             *       "type": "public-key",
             *       "response": {
             *         "clientDataJSON": "e30",
             *         "authenticatorData": "AA",
             *         "signature": "AA",
             *         "userHandle": "AA"
             *       },
             *       "clientExtensionResults": {}
             *     }
             */
            passkey: {
                [key: string]: unknown;
            };
        };
        /** @description The actor that caused something. */
        CauseActorResponse: {
            /**
             * @description kind of actor: a user, an API key or the service itself
             * @example user
             */
            actor_type: components["schemas"]["ActorType"];
            /**
             * Format: uuid
             * @description id of the user or API key; null if the service acted
             * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
             */
            actor_id: string | null;
            /**
             * @description name of the user or API key; null if it is outside the scope of the caller, or was removed
             * @example ada
             */
            name: string | null;
        };
        /** @description What a cause is based on. Each cause has some of the fields. */
        CauseEvidenceResponse: {
            /**
             * Format: int64
             * @description wrong passwords or codes in a row, for `locked` and `codes_locked`
             * @example 5
             */
            failures?: number;
            /**
             * @description whether all addresses from which the user did not log in within 30 days are locked
             * @example true
             */
            unknown_addresses?: boolean;
            /**
             * @description locked addresses from which the user logged in within 30 days
             * @example [
             *       "203.0.113.7"
             *     ]
             */
            addresses?: string[];
            /**
             * @description address of the last rejected login, or the blocked address
             * @example 203.0.113.7
             */
            ip?: string;
            /**
             * @description blocked network that contains the address; requires `address_block:manage`
             * @example 203.0.113.0/24
             */
            network?: string;
            /**
             * Format: uuid
             * @description address block of the network; requires `address_block:manage`
             * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
             */
            address_block_id?: string;
            /**
             * @description networks from which the user may log in
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_ips?: string[];
            /**
             * @description `none`: never invited; `unsent`: the mail waits for its first attempt
             * @example none
             */
            invitation?: components["schemas"]["InvitationState"];
            /**
             * Format: uuid
             * @description operation that changed the user
             * @example 0192f0c3-9e21-7a54-b1d7-4c5b6a798897
             */
            operation_id?: string;
        };
        /** @description One reason why a user cannot log in, or must do more than log in. */
        LoginCauseResponse: {
            /**
             * @description later versions may add codes
             * @example deleted
             */
            code: components["schemas"]["LoginCauseCode"];
            /**
             * @description whether it prevents the login. False for a cause that only restricts the session, and if a passkey of the user logs in despite the cause
             * @example true
             */
            blocks: boolean;
            /**
             * Format: date-time
             * @description when it began, if that is known
             * @example 2026-11-20T13:00:00.000Z
             */
            since?: string;
            /**
             * Format: date-time
             * @description when it ends by itself; absent if it does not
             * @example 2026-11-20T13:00:00.000Z
             */
            until?: string;
            /** @description the actor that caused it, for `deleted`, `disabled` and `password_voided` */
            by?: components["schemas"]["CauseActorResponse"];
            /** @description what it is based on */
            evidence?: components["schemas"]["CauseEvidenceResponse"];
            /**
             * @description operations that remove it; the caller may lack the permission
             * @example [
             *       "unlock"
             *     ]
             */
            remedies: components["schemas"]["LoginRemedy"][];
        };
        /** @description A mail to a user: not sent yet, or sent with a link that was neither used nor replaced. */
        UserMailResponse: {
            /**
             * Format: uuid
             * @description absent for a sent mail
             * @example 00000000-0000-8000-8000-00000000002a
             */
            mail_id?: string;
            /**
             * @description kind of mail
             * @example invitation
             */
            kind: components["schemas"]["MailKind"];
            /**
             * @description `sent` once the mail server has accepted the mail; otherwise see `GET /mail/list`
             * @example waiting
             */
            state: components["schemas"]["UserMailState"];
            /**
             * Format: int64
             * @description number of attempts so far; absent for a sent mail
             * @example 3
             */
            attempts?: number;
            /**
             * @description response of the mail server to the last failed attempt
             * @example 550 mailbox unavailable
             */
            last_error?: string;
            /**
             * Format: date-time
             * @description when the mail server got the mail; absent for any other mail
             * @example 2026-11-20T13:00:00.000Z
             */
            sent_at?: string;
        };
        /** @description A rejected login. */
        LoginRefusalResponse: {
            /**
             * Format: date-time
             * @description time of the login
             * @example 2026-11-20T13:00:00.000Z
             */
            occurred_at: string;
            /**
             * @description error code of the response, or what the response concealed: `disabled` for the right password of a disabled user
             * @example auth.invalid_credentials
             */
            reason: string;
            /**
             * @description address of the client
             * @example 203.0.113.7
             */
            ip: string | null;
        };
        /** @description Whether a user can log in, and why not. */
        LoginCheckResponse: {
            /**
             * @description true if no cause blocks
             * @example true
             */
            can_log_in: boolean;
            /** @description blocking causes first */
            causes: components["schemas"]["LoginCauseResponse"][];
            /** @description newest mails to the user, at most 10; only with `mail:manage` */
            mails?: components["schemas"]["UserMailResponse"][];
            /** @description newest rejected logins, at most 10; only with `audit:read` */
            recent_refusals?: components["schemas"]["LoginRefusalResponse"][];
        };
        /** @description What happens to the second factors and API keys of a user whose account is secured. */
        SecureUserRequest: {
            /**
             * @description `keep`, `remove_all`, or the ids of the factors to remove, such as factors that an attacker added. Required if the user has factors. Removing needs `user:reset_factors` and no API key, and voids the recovery codes
             * @example keep
             */
            factors?: components["schemas"]["FactorsDecision"] | string[];
            /**
             * @description `suspend` suspends the API keys that the user created until each is resumed; `keep` keeps them. Required if the user created API keys that still work
             * @example keep
             */
            keys?: components["schemas"]["KeysDecision"];
        };
        /** @description A webhook together with a new secret. */
        WebhookSecretResponse: {
            /**
             * @description verifies signatures (Standard Webhooks 1.0); no other response contains it
             * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
             */
            secret: string;
            /**
             * Format: uuid
             * @description UUIDv7
             * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
             */
            webhook_id: string;
            /**
             * @description target of the requests
             * @example https://billing.example.net/identity
             */
            url: string;
            /**
             * @description purpose of the webhook
             * @example Invoices
             */
            description: string | null;
            /**
             * @description types of the changes to send; empty = all
             * @example [
             *       "user.changed"
             *     ]
             */
            type_in: string[];
            /**
             * @description carriers that the webhook is limited to; null = the scope of its creator
             * @example [
             *       "acme"
             *     ]
             */
            carrier_scope: string[] | null;
            /**
             * @description whether `data` contains `values`
             * @example false
             */
            include_values: boolean;
            /**
             * @description `failing`: the last request failed and is retried
             * @example active
             */
            state: components["schemas"]["WebhookState"];
            /**
             * @description why the webhook is disabled. `requested`: by a user; `gone`: response 410; `failed`: three days without success; `creator`: the creator may no longer read what the webhook sends; `not_me`: the creator reported that another person had used the account
             * @example requested
             */
            disabled_reason: components["schemas"]["WebhookDisabledReason"] | null;
            /**
             * Format: int64
             * @description age in seconds of the oldest change after the last delivered change; 0 = none
             * @example 0
             */
            behind_seconds: number;
            /**
             * Format: int64
             * @description status code of the last response; null without a response
             * @example 200
             */
            last_status: number | null;
            /**
             * @description reason of the last failure without a response
             * @example timeout
             */
            last_error: string | null;
            /**
             * Format: date-time
             * @description time of the last request
             * @example 2026-11-20T13:00:00.000Z
             */
            last_attempt_at: string | null;
            /**
             * Format: date-time
             * @description time of the first failure since the last success
             * @example 2026-11-20T13:00:00.000Z
             */
            failing_since: string | null;
            /**
             * Format: date-time
             * @description time of the next attempt; null unless the webhook is failing
             * @example 2026-11-20T13:00:00.000Z
             */
            next_attempt_at: string | null;
            /**
             * Format: date-time
             * @description time until which the old secret also signs
             * @example 2026-11-20T13:00:00.000Z
             */
            old_secret_until: string | null;
            /**
             * Format: date-time
             * @description time of creation, RFC 3339 in UTC
             * @example 2026-11-20T13:00:00.000Z
             */
            created_at: string;
            /**
             * Format: uuid
             * @description user who created the webhook and whose scope limits it
             * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
             */
            created_by: string;
            /**
             * Format: date-time
             * @description time of the last change by a user
             * @example 2026-11-20T13:00:00.000Z
             */
            updated_at: string;
        };
        /** @description A new webhook. */
        CreateWebhookRequest: {
            /**
             * @description target of the requests: `https`, port 443 or at least 1024, no user name, no fragment. `http` only for addresses in `WEBHOOK_ALLOWED_NETWORKS`. Up to 2,048 characters
             * @example https://billing.example.net/identity
             */
            url: string;
            /**
             * @description purpose of the webhook, up to 500 characters; null = none
             * @example Invoices
             */
            description?: string | null;
            /**
             * @description types of the changes to send; absent or empty = all
             * @example [
             *       "user.created"
             *     ]
             */
            type_in?: components["schemas"]["ChangeType"][];
            /**
             * @description carriers that the webhook is limited to; null or absent = the caller's scope. For System Users only
             * @example [
             *       "acme"
             *     ]
             */
            carrier_scope?: string[] | null;
            /**
             * @description whether `data` contains `values`, see `GET /change/list`; needs `user:read`
             * @example false
             */
            include_values?: boolean;
        };
        /** @description A webhook. */
        WebhookResponse: {
            /**
             * Format: uuid
             * @description UUIDv7
             * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
             */
            webhook_id: string;
            /**
             * @description target of the requests
             * @example https://billing.example.net/identity
             */
            url: string;
            /**
             * @description purpose of the webhook
             * @example Invoices
             */
            description: string | null;
            /**
             * @description types of the changes to send; empty = all
             * @example [
             *       "user.changed"
             *     ]
             */
            type_in: string[];
            /**
             * @description carriers that the webhook is limited to; null = the scope of its creator
             * @example [
             *       "acme"
             *     ]
             */
            carrier_scope: string[] | null;
            /**
             * @description whether `data` contains `values`
             * @example false
             */
            include_values: boolean;
            /**
             * @description `failing`: the last request failed and is retried
             * @example active
             */
            state: components["schemas"]["WebhookState"];
            /**
             * @description why the webhook is disabled. `requested`: by a user; `gone`: response 410; `failed`: three days without success; `creator`: the creator may no longer read what the webhook sends; `not_me`: the creator reported that another person had used the account
             * @example requested
             */
            disabled_reason: components["schemas"]["WebhookDisabledReason"] | null;
            /**
             * Format: int64
             * @description age in seconds of the oldest change after the last delivered change; 0 = none
             * @example 0
             */
            behind_seconds: number;
            /**
             * Format: int64
             * @description status code of the last response; null without a response
             * @example 200
             */
            last_status: number | null;
            /**
             * @description reason of the last failure without a response
             * @example timeout
             */
            last_error: string | null;
            /**
             * Format: date-time
             * @description time of the last request
             * @example 2026-11-20T13:00:00.000Z
             */
            last_attempt_at: string | null;
            /**
             * Format: date-time
             * @description time of the first failure since the last success
             * @example 2026-11-20T13:00:00.000Z
             */
            failing_since: string | null;
            /**
             * Format: date-time
             * @description time of the next attempt; null unless the webhook is failing
             * @example 2026-11-20T13:00:00.000Z
             */
            next_attempt_at: string | null;
            /**
             * Format: date-time
             * @description time until which the old secret also signs
             * @example 2026-11-20T13:00:00.000Z
             */
            old_secret_until: string | null;
            /**
             * Format: date-time
             * @description time of creation, RFC 3339 in UTC
             * @example 2026-11-20T13:00:00.000Z
             */
            created_at: string;
            /**
             * Format: uuid
             * @description user who created the webhook and whose scope limits it
             * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
             */
            created_by: string;
            /**
             * Format: date-time
             * @description time of the last change by a user
             * @example 2026-11-20T13:00:00.000Z
             */
            updated_at: string;
        };
        /** @description A page of webhooks. */
        WebhookListResponse: {
            /** @description newest first unless sorted otherwise */
            items: components["schemas"]["WebhookResponse"][];
            /**
             * Format: int64
             * @description requested number of rows
             * @example 50
             */
            per_page: number;
            /**
             * Format: int64
             * @description number of the page, only for requests with `page`
             * @example 1
             */
            page?: number;
            /**
             * @description value of `cursor` for the next page; null on the last page
             * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
             */
            next_cursor: string | null;
            /** @description number of rows that match the filter; null with `count=none` */
            total: components["schemas"]["PageTotalResponse"] | null;
        };
        /** @description Changes to a webhook. Absent fields stay unchanged (RFC 7396). */
        ChangeWebhookRequest: {
            /**
             * @description target of the requests, as in `POST /webhook/create`
             * @example https://billing.example.net/identity
             */
            url?: string;
            /**
             * @description purpose of the webhook; null clears it
             * @example Invoices
             */
            description?: string | null;
            /**
             * @description types of the changes to send; empty = all
             * @example [
             *       "user.created"
             *     ]
             */
            type_in?: components["schemas"]["ChangeType"][];
            /**
             * @description carriers that the webhook is limited to; null = the scope of its creator
             * @example [
             *       "acme"
             *     ]
             */
            carrier_scope?: string[] | null;
            /**
             * @description whether `data` contains `values`; needs `user:read`
             * @example false
             */
            include_values?: boolean;
        };
        /** @description Where an enabled webhook continues. */
        EnableWebhookRequest: {
            /**
             * @description cursor of the change feed, or an RFC 3339 time; absent = where the webhook stopped
             * @example 2026-11-20T13:00:00Z
             */
            after?: string;
        };
        /** @description The place after which changes are sent again. */
        ReplayWebhookRequest: {
            /**
             * @description cursor of the change feed, or an RFC 3339 time; at the earliest, the oldest change is sent
             * @example 2026-11-20T13:00:00Z
             */
            after: string;
        };
        /** @description How long the old secret remains valid. */
        RotateWebhookSecretRequest: {
            /**
             * Format: int32
             * @description seconds for which the old secret also signs, 0–604,800
             * @example 86400
             */
            keep_old_seconds: number;
        };
        /** @description An attempt to send a request, or a test or retry that is waiting. */
        WebhookDeliveryResponse: {
            /**
             * Format: uuid
             * @description UUIDv7
             * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d3
             */
            delivery_id: string;
            /**
             * @description why the request was sent
             * @example change
             */
            kind: components["schemas"]["WebhookDeliveryKind"];
            /**
             * Format: uuid
             * @description change that was sent, the header `webhook-id`; null for a test
             * @example 0192f0c4-2f10-7b6d-8e93-5a4b3c2d1e0f
             */
            change_id: string | null;
            /**
             * @description type of the change
             * @example user.changed
             */
            type: string;
            /**
             * Format: int64
             * @description number of the attempt, beginning with 1
             * @example 1
             */
            attempt: number;
            /**
             * Format: date-time
             * @description time of the attempt, or when the test or retry was requested
             * @example 2026-11-20T13:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description time of the attempt; null while it is waiting
             * @example 2026-11-20T13:00:00.000Z
             */
            attempted_at: string | null;
            /**
             * Format: int64
             * @description status code of the response; null without a response
             * @example 200
             */
            status: number | null;
            /**
             * @description reason of the failure if there is no response
             * @example timeout
             */
            error: string | null;
            /**
             * Format: int64
             * @description milliseconds until the response was received
             * @example 42
             */
            duration_ms: number | null;
            /**
             * @description body of the request; `values` are not stored
             * @example {}
             */
            request: string | null;
            /**
             * @description first 16 KiB of the response
             * @example ok
             */
            response: string | null;
        };
        /** @description A page of deliveries. */
        WebhookDeliveryListResponse: {
            /** @description newest first unless sorted otherwise */
            items: components["schemas"]["WebhookDeliveryResponse"][];
            /**
             * Format: int64
             * @description requested number of rows
             * @example 50
             */
            per_page: number;
            /**
             * Format: int64
             * @description number of the page, only for requests with `page`
             * @example 1
             */
            page?: number;
            /**
             * @description value of `cursor` for the next page; null on the last page
             * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
             */
            next_cursor: string | null;
            /** @description number of rows that match the filter; null with `count=none` */
            total: components["schemas"]["PageTotalResponse"] | null;
        };
        /** @description Accepted request. It has no fields, so it does not reveal whether an address is known. */
        AcceptedResponse: Record<string, never>;
        /** @description Request to reset a password. */
        ResetEmailRequest: {
            /**
             * Format: email
             * @description current e-mail address of the user
             * @example ada@example.com
             */
            email: string;
        };
        /** @description A valid link to set a password. */
        ResetLinkResponse: {
            /**
             * @description `reset` sets a new password; `invitation` sets the first one; `not_me` also undoes the changes that a mail reported
             * @example reset
             */
            kind: components["schemas"]["LinkKind"];
            /**
             * Format: date-time
             * @description time of expiry
             * @example 2026-11-20T13:00:00.000Z
             */
            expires_at: string;
        };
        /** @description New password, set with a mailed link. */
        ResetRequest: {
            /**
             * Format: password
             * @description 15–256 characters (`PASSWORD_MIN_LENGTH` sets the minimum); must not be a common password or contain the name, e-mail address or carrier of the user
             * @example seven bridges over a quiet river
             */
            password: string;
        };
        /** @description A change of the caller's e-mail address. */
        ChangeEmailRequest: {
            /**
             * Format: email
             * @description new address; takes effect once it is confirmed by mail
             * @example ada@example.net
             */
            email: string;
            /**
             * Format: password
             * @description current password
             * @example a quiet river under seven bridges
             */
            current_password: string;
        };
        /** @description A valid link. */
        LinkResponse: {
            /**
             * Format: date-time
             * @description time of expiry
             * @example 2026-11-20T13:00:00.000Z
             */
            expires_at: string;
        };
        /** @description Number of users of a type and status. */
        UserCountResponse: {
            /**
             * @description kind of user
             * @example carrier
             */
            user_type: components["schemas"]["UserType"];
            /**
             * @description state of the users
             * @example active
             */
            status: components["schemas"]["UserStatus"];
            /**
             * Format: int64
             * @description number of users
             * @example 12
             */
            count: number;
        };
        /** @description Logins of one hour. */
        LoginHourResponse: {
            /**
             * Format: date-time
             * @description beginning of the hour, in UTC
             * @example 2026-11-20T13:00:00.000Z
             */
            hour: string;
            /**
             * Format: int64
             * @description number of completed logins
             * @example 120
             */
            succeeded: number;
            /**
             * Format: int64
             * @description number of failed logins: wrong name, password or passkey, or not allowed
             * @example 3
             */
            failed: number;
        };
        /** @description Items of one kind that need attention, with the list that shows them. */
        AttentionResponse: {
            /**
             * @description kind of the items
             * @example users_locked
             */
            kind: components["schemas"]["AttentionKind"];
            /**
             * Format: int64
             * @description number of users, API keys, mails, webhooks or rejected logins
             * @example 12
             */
            count: number;
            /**
             * @description path of the list that shows the items
             * @example /user/list
             */
            list: string;
            /**
             * @description query parameters that limit the list to the items
             * @example {
             *       "locked_until_gt": "2026-11-20T13:00:00.000Z"
             *     }
             */
            filter: {
                [key: string]: string;
            };
        };
        /** @description The jobs in the background, without mails. */
        JobsHealthResponse: {
            /**
             * @description `critical`: jobs have stalled; `warning`: jobs failed
             * @example ok
             */
            state: components["schemas"]["HealthState"];
            /**
             * Format: int64
             * @description number of jobs that have been due or running for more than 10 minutes
             * @example 0
             */
            overdue: number;
            /**
             * Format: int64
             * @description number of jobs whose last attempt failed
             * @example 0
             */
            failed: number;
            /**
             * Format: int64
             * @description seconds since the oldest overdue job was due or began to run; 0 if none is overdue
             * @example 0
             */
            oldest_seconds: number;
        };
        /** @description The database. */
        DatabaseHealthResponse: {
            /**
             * @description `warning` at 80% of the connections, `critical` at 95%
             * @example ok
             */
            state: components["schemas"]["HealthState"];
            /**
             * Format: int64
             * @description size of the database in bytes
             * @example 1073741824
             */
            size_bytes: number;
            /**
             * Format: int64
             * @description open connections to the server, of all databases
             * @example 12
             */
            connections: number;
            /**
             * Format: int64
             * @description connections that the server allows
             * @example 100
             */
            connections_max: number;
        };
        /** @description The disk of the embedded database. */
        DiskHealthResponse: {
            /**
             * @description `warning` below 10% or 1 GiB, `critical` below 2% or 256 MiB of free space
             * @example ok
             */
            state: components["schemas"]["HealthState"];
            /**
             * Format: int64
             * @description free space in bytes
             * @example 53687091200
             */
            free_bytes: number;
            /**
             * Format: int64
             * @description total space in bytes
             * @example 107374182400
             */
            total_bytes: number;
        };
        /** @description The mail queue. */
        MailHealthResponse: {
            /**
             * @description `critical`: the mail server cannot be used; `warning`: mails fail
             * @example ok
             */
            state: components["schemas"]["HealthState"];
            /**
             * Format: int64
             * @description number of mails that wait for their first or next attempt
             * @example 3
             */
            waiting: number;
            /**
             * Format: int64
             * @description of these, mails that failed twice or got a 5xx response
             * @example 1
             */
            failing: number;
            /**
             * Format: int64
             * @description mails whose last attempt failed
             * @example 0
             */
            failed: number;
            /**
             * Format: int64
             * @description seconds since the oldest waiting mail was requested; 0 if none waits
             * @example 12
             */
            oldest_seconds: number;
        };
        /** @description The webhooks of all users. */
        WebhooksHealthResponse: {
            /**
             * @description `critical`: the service disabled a webhook; `warning`: a webhook fails or is 10 min late
             * @example ok
             */
            state: components["schemas"]["HealthState"];
            /**
             * Format: int64
             * @description number of webhooks that the service disabled
             * @example 0
             */
            disabled: number;
            /**
             * Format: int64
             * @description number of webhooks that fail
             * @example 0
             */
            failing: number;
            /**
             * Format: int64
             * @description seconds since the oldest change that an enabled webhook has not sent; 0 if all are sent
             * @example 0
             */
            behind_seconds: number;
        };
        /** @description State of the parts of the service, at most a minute old. */
        ServiceHealthResponse: {
            /** @description jobs in the background */
            jobs: components["schemas"]["JobsHealthResponse"];
            /** @description database */
            database: components["schemas"]["DatabaseHealthResponse"];
            /** @description disk; absent unless the service runs the embedded database */
            disk?: components["schemas"]["DiskHealthResponse"];
            /** @description mail; requires `mail:manage` */
            mail?: components["schemas"]["MailHealthResponse"];
            /** @description webhooks; requires `webhook:manage` */
            webhooks?: components["schemas"]["WebhooksHealthResponse"];
        };
        /** @description Figures of the start page, within the scope of the caller. */
        OverviewResponse: {
            /**
             * Format: date-time
             * @description time of the last count of users, sessions, logins and failed mails
             * @example 2026-11-20T13:00:00.000Z
             */
            as_of: string;
            /**
             * Format: int64
             * @description seconds since the last count, by the clock of the database
             * @example 40
             */
            age_seconds: number;
            /** @description users by type and status, without deleted users */
            users: components["schemas"]["UserCountResponse"][];
            /**
             * Format: int64
             * @description number of live sessions
             * @example 1234
             */
            sessions: number;
            /** @description logins of the last 24 hours, the oldest hour first; the last hour is incomplete */
            logins: components["schemas"]["LoginHourResponse"][];
            /**
             * Format: int64
             * @description number of unfinished operations that the caller may see
             * @example 1
             */
            operations_running: number;
            /** @description what needs attention, as far as the caller may see it; a count may be 0 */
            attention: components["schemas"]["AttentionResponse"][];
            /** @description state of the parts of the service; absent for callers with a scope */
            health?: components["schemas"]["ServiceHealthResponse"];
        };
        /** @description A network with rejected logins. */
        AttackingNetworkResponse: {
            /**
             * @description CIDR: a /24 of IPv4 or a /64 of IPv6
             * @example 203.0.113.0/24
             */
            network: string;
            /**
             * Format: int64
             * @description number of rejected logins
             * @example 412
             */
            refused: number;
            /**
             * Format: int64
             * @description number of different logins that were tried, known or not
             * @example 96
             */
            logins_tried: number;
            /**
             * Format: date-time
             * @description time of the first rejected login
             * @example 2026-11-20T13:00:00.000Z
             */
            first_at: string;
            /**
             * Format: date-time
             * @description time of the last rejected login
             * @example 2026-11-20T13:00:00.000Z
             */
            last_at: string;
            /**
             * Format: date-time
             * @description end of the block of the whole network; only for callers without a scope
             * @example 2026-11-20T13:00:00.000Z
             */
            blocked_until?: string;
        };
        /** @description A user with rejected logins. */
        AttackedUserResponse: {
            /**
             * Format: uuid
             * @description id of the user
             * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
             */
            user_id: string;
            /**
             * @description login name
             * @example ada
             */
            name: string;
            /**
             * Format: int64
             * @description number of rejected logins
             * @example 14
             */
            refused: number;
            /**
             * Format: int64
             * @description number of networks that the logins came from
             * @example 9
             */
            networks: number;
            /**
             * Format: date-time
             * @description time of the last rejected login
             * @example 2026-11-20T13:00:00.000Z
             */
            last_at: string;
        };
        /** @description The last 200,000 rejected logins of the last 24 hours, within the scope of the caller. */
        AttacksResponse: {
            /** @description networks with the most rejected logins first; at most 100 */
            networks: components["schemas"]["AttackingNetworkResponse"][];
            /** @description users with the most rejected logins first; at most 100 */
            users: components["schemas"]["AttackedUserResponse"][];
            /**
             * Format: int64
             * @description number of rejected logins within the last hour
             * @example 380
             */
            refused_last_hour: number;
            /**
             * Format: int64
             * @description median of the rejected logins at this hour of the last 7 days
             * @example 4
             */
            usual_for_the_hour: number;
        };
        /** @description URLs for clients and operators. */
        ServiceLinks: {
            /**
             * @description web console, unless `CONSOLE` is false
             * @example https://identity.example.net/console/
             */
            console?: string;
            /**
             * @description API explorer
             * @example https://identity.example.net/docs
             */
            docs: string;
            /**
             * @description OpenAPI document
             * @example https://identity.example.net/docs/openapi.json
             */
            openapi: string;
            /**
             * @description keys that verify access tokens (JWKS)
             * @example https://identity.example.net/.well-known/jwks.json
             */
            jwks: string;
            /**
             * @description responds with 200 while the process is running
             * @example https://identity.example.net/health/live
             */
            live: string;
            /**
             * @description responds with 200 while the service can handle requests
             * @example https://identity.example.net/health/ready
             */
            ready: string;
        };
        /** @description Name, version and links of the service. */
        ServiceResponse: {
            /**
             * @description name of the service
             * @example carrier-identity
             */
            name: string;
            /**
             * @description version of the service
             * @example 1.0.0
             */
            version: string;
            /** @description URLs for clients and operators */
            links: components["schemas"]["ServiceLinks"];
        };
        /** @description State of this instance. */
        HealthResponse: {
            /**
             * @description always `ok`; an instance that cannot handle requests responds with 503
             * @example ok
             * @constant
             */
            status: "ok";
            /**
             * @description version of the service
             * @example 1.0.0
             */
            version: string;
        };
        /** @description State of an instance that can handle requests. */
        ReadinessResponse: {
            /**
             * @description always `ok`; an instance that cannot handle requests responds with 503
             * @example ok
             * @constant
             */
            status: "ok";
            /**
             * @description version of the service
             * @example 1.0.0
             */
            version: string;
            /**
             * Format: int64
             * @description jobs that have waited for more than a minute, such as mails; at most 1,000, absent if none
             * @example 3
             */
            overdue_jobs?: number;
        };
        /** @description A mail that is not sent yet. Contains neither its text nor its link. */
        MailResponse: {
            /**
             * Format: uuid
             * @description stays the same when the mail is retried; a delayed mail gets a new id when it is due or retried
             * @example 00000000-0000-8000-8000-00000000002a
             */
            mail_id: string;
            /**
             * @description kind of mail
             * @example invitation
             */
            kind: components["schemas"]["MailKind"];
            /**
             * @description `waiting` for its first attempt; `retrying` after a failed attempt; `sending` while an attempt runs; `failed` after the last attempt, about four days after the first
             * @example waiting
             */
            state: components["schemas"]["MailState"];
            /**
             * Format: uuid
             * @description id of the user who receives the mail
             * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
             */
            user_id: string;
            /**
             * @description login name of the user
             * @example ada
             */
            name: string;
            /**
             * @description carrier of a Carrier User
             * @example acme
             */
            carrier_id: string | null;
            /**
             * @description address of the recipient
             * @example ada@example.com
             */
            recipient: string;
            /**
             * Format: int64
             * @description number of attempts so far, at most 25; `POST /mail/{mail_id}/retry` resets it to 0
             * @example 3
             */
            attempts: number;
            /**
             * @description response of the mail server to the last failed attempt, or why there was none
             * @example 550 mailbox unavailable
             */
            last_error: string | null;
            /**
             * @description true if at least two attempts failed, or if the mail server rejected the mail permanently (5xx)
             * @example true
             */
            failing: boolean;
            /**
             * Format: date-time
             * @description when the mail was requested
             * @example 2026-11-20T13:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description time of the next attempt; null while `sending` and after the last attempt
             * @example 2026-11-20T13:00:00.000Z
             */
            next_attempt_at: string | null;
        };
        /** @description A page of mails. */
        MailListResponse: {
            /** @description newest first unless sorted otherwise */
            items: components["schemas"]["MailResponse"][];
            /**
             * Format: int64
             * @description requested number of rows
             * @example 50
             */
            per_page: number;
            /**
             * Format: int64
             * @description number of the page, only for requests with `page`
             * @example 1
             */
            page?: number;
            /**
             * @description value of `cursor` for the next page; null on the last page
             * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
             */
            next_cursor: string | null;
            /** @description number of rows that match the filter; null with `count=none` */
            total: components["schemas"]["PageTotalResponse"] | null;
        };
        /** @description The result of a bulk change, its preview, or the operation that continues it, by `kind` */
        BulkResponse: components["schemas"]["BulkPreviewResponse"] | components["schemas"]["BulkResultResponse"] | components["schemas"]["OperationResponse"];
        /** @description The operation of an import, or its preview, by `kind` */
        ImportResponse: components["schemas"]["ImportPreviewResponse"] | components["schemas"]["OperationResponse"];
        /**
         * @description Kind of actor: a user, an API key or the service.
         * @example user
         * @enum {string}
         */
        ActorType: "user" | "key" | "system" | (string & {});
        /**
         * @description Sort field of the list.
         * @default created_at
         * @example created_at
         * @enum {string}
         */
        AddressBlockSort: "created_at" | "expires_at" | (string & {});
        /**
         * @description Sort field of the list.
         * @default created_at
         * @example created_at
         * @enum {string}
         */
        ApiKeySort: "created_at" | "name" | "expires_at" | "last_used_at" | (string & {});
        /**
         * @description What needs attention.
         * @example users_locked
         * @enum {string}
         */
        AttentionKind: "users_locked" | "users_must_enroll" | "api_keys_expiring" | "mails_failed" | "attack" | "mails_failing" | "webhooks_disabled" | "webhooks_failing" | (string & {});
        /**
         * @description Sort field of the list.
         * @default carrier_id
         * @example carrier_id
         * @enum {string}
         */
        CarrierSort: "carrier_id";
        /**
         * @description Parts that a change contains on request.
         * @example values
         * @enum {string}
         */
        ChangeInclude: "values";
        /**
         * @description Type of a change: an event of the audit log.
         * @example user.created
         * @enum {string}
         */
        ChangeType: "user.created" | "user.changed" | "user.deleted" | "user.restored" | "user.secured" | "user.purged" | "user.invited" | "user.unlocked" | "user.email_confirmed" | "mail.retried" | "factor.recovery_code_used" | "password.reset_requested" | "password.changed" | "password.reset" | "factor.enrolled" | "factor.renamed" | "factor.removed" | "factor.reset" | "factor.counter_went_back" | "factor.recovery_codes_renewed" | "session.ended" | "session.token_reused" | "role.created" | "role.changed" | "role.deleted" | "key.created" | "key.resumed" | "key.rotated" | "key.revoked" | (string & {});
        /**
         * @description Kinds of targets in the change feed. The index `events_changes_idx` must name the same kinds.
         * @example user
         * @enum {string}
         */
        ChangedTarget: "user" | "session" | "role" | "key" | (string & {});
        /**
         * @description Outcome of a row that conflicts with an existing user.
         * @default fail
         * @example fail
         * @enum {string}
         */
        ConflictRule: "fail" | "skip" | (string & {});
        /**
         * @description How a total is counted.
         * @default estimated
         * @example estimated
         * @enum {string}
         */
        CountMode: "estimated" | "exact" | "none" | (string & {});
        /**
         * @description Whether a total is exact or an estimate.
         * @example eq
         * @enum {string}
         */
        CountRelation: "eq" | "approx" | (string & {});
        /**
         * @description Character between the cells of a CSV file.
         * @default comma
         * @example comma
         * @enum {string}
         */
        CsvDelimiter: "comma" | "semicolon" | "tab" | (string & {});
        /**
         * @description Sort field of the list.
         * @default created_at
         * @example created_at
         * @enum {string}
         */
        DeliverySort: "created_at";
        /**
         * @description Sort field of the list.
         * @default occurred_at
         * @example occurred_at
         * @enum {string}
         */
        EventSort: "occurred_at";
        /**
         * @description Names of the columns of an export.
         * @example user_id
         * @enum {string}
         */
        ExportColumn: "user_id" | "user_type" | "name" | "email" | "email_verified_at" | "first_name" | "last_name" | "phone" | "job_title" | "department" | "locale" | "timezone" | "carrier_id" | "carrier_scope" | "roles" | "status" | "allowed_ips" | "attributes" | "must_change_password" | "created_at" | "last_login_at" | "last_login_ip" | "last_seen_at" | "password_changed_at" | (string & {});
        /**
         * @description Format of an export.
         * @default csv
         * @example csv
         * @enum {string}
         */
        ExportFormat: "csv" | "ndjson" | (string & {});
        /**
         * @description Kind of second factor. Recovery codes are not a factor.
         * @example totp
         * @enum {string}
         */
        FactorKind: "totp" | "passkey" | (string & {});
        /**
         * @description Whether factors are kept.
         * @example keep
         * @enum {string}
         */
        FactorsDecision: "keep" | "remove_all" | (string & {});
        /**
         * @description State of a part of the service, the best first.
         * @example ok
         * @enum {string}
         */
        HealthState: "ok" | "warning" | "critical" | (string & {});
        /**
         * @description State of the link of an invitation.
         * @example none
         * @enum {string}
         */
        InvitationState: "none" | "unsent" | "valid" | "expired" | (string & {});
        /**
         * @description Whether API keys are kept.
         * @example keep
         * @enum {string}
         */
        KeysDecision: "keep" | "suspend" | (string & {});
        /**
         * @description What a link sets.
         * @example reset
         * @enum {string}
         */
        LinkKind: "reset" | "invitation" | "not_me" | (string & {});
        /**
         * @description Why a user cannot log in, or must do more than log in. In the order of the response.
         * @example deleted
         * @enum {string}
         */
        LoginCauseCode: "deleted" | "disabled" | "locked" | "codes_locked" | "invited" | "invitation_expired" | "password_voided" | "password_expired" | "address_not_allowed" | "address_blocked" | "password_change_required" | "second_factor_enrollment_required" | (string & {});
        /**
         * @description An operation that removes a cause.
         * @example unlock
         * @enum {string}
         */
        LoginRemedy: "unlock" | "enable" | "invite" | "restore" | "correct_email" | "secure" | "change_allowed_ips" | "remove_address_block" | (string & {});
        /**
         * @description Kind of mail.
         * @example invitation
         * @enum {string}
         */
        MailKind: "invitation" | "reset" | "secured" | "email-confirmation" | "enrollment-code" | "password-changed" | "email-change-notice" | "token-reuse" | "factor-enrolled" | "factor-removed" | "factors-reset" | "recovery-code-used" | "recovery-codes-low" | "recovery-codes-renewed" | "passkey-counter" | "second-step-missing" | "new-address-login" | "webhook-disabled" | (string & {});
        /**
         * @description Sort field of the list.
         * @default created_at
         * @example created_at
         * @enum {string}
         */
        MailSort: "created_at" | "next_attempt_at" | (string & {});
        /**
         * @description State of a mail that is not sent yet.
         * @example waiting
         * @enum {string}
         */
        MailState: "waiting" | "retrying" | "sending" | "failed" | (string & {});
        /**
         * @description Kind of actor of an operation.
         * @example user
         * @enum {string}
         */
        OperationActorType: "user" | "key" | (string & {});
        /**
         * @description Kind of operation.
         * @example change
         * @enum {string}
         */
        OperationKind: "change" | "delete" | "undo" | "import" | (string & {});
        /**
         * @description State of an operation: during the upload, accepted, running, and the three final states.
         * @example receiving
         * @enum {string}
         */
        OperationStatus: "receiving" | "waiting" | "running" | "done" | "canceled" | "failed" | (string & {});
        /**
         * @description How the refresh token is sent, if not in the body.
         * @example cookie
         * @enum {string}
         */
        RefreshTokenTransport: "cookie";
        /**
         * @description Why a session ended.
         * @example revoked
         * @enum {string}
         */
        SessionEndReason: "revoked" | "logout" | "expired" | "replaced" | "token_reuse" | "password_changed" | "ip_not_allowed" | "user_disabled" | "user_deleted" | "factors_changed" | "secured" | (string & {});
        /**
         * @description Sort field of the list.
         * @default created_at
         * @example created_at
         * @enum {string}
         */
        SessionSort: "created_at" | "last_seen_at" | "expires_at" | (string & {});
        /**
         * @description Direction of a sort.
         * @default desc
         * @example desc
         * @enum {string}
         */
        SortDirection: "asc" | "desc" | (string & {});
        /**
         * @description State of a mail in the login check.
         * @example waiting
         * @enum {string}
         */
        UserMailState: "waiting" | "retrying" | "sending" | "failed" | "sent" | (string & {});
        /**
         * @description Sort field of the list.
         * @default created_at
         * @example created_at
         * @enum {string}
         */
        UserSort: "created_at" | "updated_at" | "name" | "email" | "last_name" | "last_login_at" | "last_seen_at" | "status" | "carrier_id" | "deleted_at" | (string & {});
        /**
         * @description State of a user: `invited` users have no password yet, `disabled` users cannot log in.
         * @example active
         * @enum {string}
         */
        UserStatus: "active" | "invited" | "disabled" | (string & {});
        /**
         * @description Kind of user.
         * @example carrier
         * @enum {string}
         */
        UserType: "carrier" | "system" | (string & {});
        /**
         * @description Why a request is sent: a change of the feed, a test, or the retry of a delivery.
         * @example change
         * @enum {string}
         */
        WebhookDeliveryKind: "change" | "test" | "retry" | (string & {});
        /**
         * @description Reason why a webhook is disabled.
         * @example requested
         * @enum {string}
         */
        WebhookDisabledReason: "requested" | "gone" | "failed" | "creator" | "not_me" | (string & {});
        /**
         * @description State of a webhook. `failing`: the last request failed and is retried.
         * @example active
         * @enum {string}
         */
        WebhookState: "active" | "failing" | "disabled" | (string & {});
    };
    responses: never;
    parameters: {
        /**
         * @description Direction of the sort
         * @example desc
         */
        OrderDir: components["schemas"]["SortDirection"];
        /**
         * @description Rows per page
         * @example 50
         */
        PerPage: number;
        /**
         * @description Number of the page, from 1. `page` × `per_page` is at most 100,000. Cannot be combined with `cursor`
         * @example 1
         */
        Page: number;
        /**
         * @description `next_cursor` of the previous page; valid for the same caller, filter and sort
         * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
         */
        Cursor: string;
        /**
         * @description `estimated` counts up to 10,000 rows and estimates larger totals; `exact` counts all rows; `none` leaves `total` null
         * @example estimated
         */
        Count: components["schemas"]["CountMode"];
        /**
         * @description `true`: accepts the name of a module that differs in one letter from a module of this service
         * @example false
         */
        NewPrefix: boolean;
        /**
         * @description Name of the role, case-sensitive
         * @example carrier_user
         */
        RolePath: string;
        /**
         * @description `ETag` of the version that the caller expects. Fails with 412 if the current version differs
         * @example "3"
         */
        IfMatch: string;
        /**
         * @description Id of the session: equals
         * @example 0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c
         */
        SessionFilterSessionId: string;
        /**
         * @description Id of the session: does not equal; matches null too
         * @example 0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c
         */
        SessionFilterSessionIdNe: string;
        /**
         * @description Id of the session: is one of up to 500 different values, separated by commas
         * @example [
         *       "0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c"
         *     ]
         */
        SessionFilterSessionIdIn: string[];
        /**
         * @description Id of the user: equals
         * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
         */
        SessionFilterUserId: string;
        /**
         * @description Id of the user: does not equal; matches null too
         * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
         */
        SessionFilterUserIdNe: string;
        /**
         * @description Id of the user: is one of up to 500 different values, separated by commas
         * @example [
         *       "0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e"
         *     ]
         */
        SessionFilterUserIdIn: string[];
        /**
         * @description Kind of user: equals
         * @example carrier
         */
        SessionFilterUserType: components["schemas"]["UserType"];
        /**
         * @description Kind of user: does not equal; matches null too
         * @example carrier
         */
        SessionFilterUserTypeNe: components["schemas"]["UserType"];
        /**
         * @description Kind of user: is one of up to 500 different values, separated by commas
         * @example [
         *       "carrier"
         *     ]
         */
        SessionFilterUserTypeIn: components["schemas"]["UserType"][];
        /**
         * @description Login name of the user: equals
         * @example ada
         */
        SessionFilterName: string;
        /**
         * @description Login name of the user: does not equal; matches null too
         * @example ada
         */
        SessionFilterNameNe: string;
        /**
         * @description Login name of the user: is one of up to 500 different values, separated by commas
         * @example [
         *       "ada"
         *     ]
         */
        SessionFilterNameIn: string[];
        /**
         * @description Login name of the user: contains, ignoring case; at least 3 characters
         * @example ada
         */
        SessionFilterNameLike: string;
        /**
         * @description E-mail address of the user: equals
         * @example ada@example.com
         */
        SessionFilterEmail: string;
        /**
         * @description E-mail address of the user: does not equal; matches null too
         * @example ada@example.com
         */
        SessionFilterEmailNe: string;
        /**
         * @description E-mail address of the user: is one of up to 500 different values, separated by commas
         * @example [
         *       "ada@example.com"
         *     ]
         */
        SessionFilterEmailIn: string[];
        /**
         * @description E-mail address of the user: contains, ignoring case; at least 3 characters
         * @example ada@example.com
         */
        SessionFilterEmailLike: string;
        /**
         * @description Carrier of the user: equals
         * @example acme
         */
        SessionFilterCarrierId: string;
        /**
         * @description Carrier of the user: does not equal; matches null too
         * @example acme
         */
        SessionFilterCarrierIdNe: string;
        /**
         * @description Carrier of the user: is one of up to 500 different values, separated by commas
         * @example [
         *       "acme"
         *     ]
         */
        SessionFilterCarrierIdIn: string[];
        /**
         * @description Carrier of the user: has no value
         * @example true
         */
        SessionFilterCarrierIdIsnull: boolean;
        /**
         * @description Carrier of the user: contains, ignoring case; at least 3 characters
         * @example acme
         */
        SessionFilterCarrierIdLike: string;
        /**
         * @description Address of the login (address or CIDR): equals
         * @example 203.0.113.7
         */
        SessionFilterIp: string;
        /**
         * @description Address of the login (address or CIDR): does not equal; matches null too
         * @example 203.0.113.7
         */
        SessionFilterIpNe: string;
        /**
         * @description Address of the login (address or CIDR): is one of up to 500 different values, separated by commas
         * @example [
         *       "203.0.113.7"
         *     ]
         */
        SessionFilterIpIn: string[];
        /**
         * @description Address of the login (address or CIDR): has no value
         * @example true
         */
        SessionFilterIpIsnull: boolean;
        /**
         * @description User agent of the login: equals
         * @example Mozilla/5.0 (X11; Linux x86_64) Firefox/131.0
         */
        SessionFilterUserAgent: string;
        /**
         * @description User agent of the login: does not equal; matches null too
         * @example Mozilla/5.0 (X11; Linux x86_64) Firefox/131.0
         */
        SessionFilterUserAgentNe: string;
        /**
         * @description User agent of the login: is one of up to 500 different values, separated by commas
         * @example [
         *       "Mozilla/5.0 (X11; Linux x86_64) Firefox/131.0"
         *     ]
         */
        SessionFilterUserAgentIn: string[];
        /**
         * @description User agent of the login: has no value
         * @example true
         */
        SessionFilterUserAgentIsnull: boolean;
        /**
         * @description User agent of the login: contains, ignoring case; at least 3 characters
         * @example Mozilla/5.0 (X11; Linux x86_64) Firefox/131.0
         */
        SessionFilterUserAgentLike: string;
        /**
         * @description Whether the session is live: equals
         * @example true
         */
        SessionFilterActive: boolean;
        /**
         * @description Whether the session is live: does not equal; matches null too
         * @example true
         */
        SessionFilterActiveNe: boolean;
        /**
         * @description Whether the session is live: is one of up to 500 different values, separated by commas
         * @example [
         *       true
         *     ]
         */
        SessionFilterActiveIn: boolean[];
        /**
         * @description Whether the user authenticated with two factors: equals
         * @example true
         */
        SessionFilterMfa: boolean;
        /**
         * @description Whether the user authenticated with two factors: does not equal; matches null too
         * @example true
         */
        SessionFilterMfaNe: boolean;
        /**
         * @description Whether the user authenticated with two factors: is one of up to 500 different values, separated by commas
         * @example [
         *       true
         *     ]
         */
        SessionFilterMfaIn: boolean[];
        /**
         * @description Why the session ended: equals
         * @example revoked
         */
        SessionFilterEndedReason: components["schemas"]["SessionEndReason"];
        /**
         * @description Why the session ended: does not equal; matches null too
         * @example revoked
         */
        SessionFilterEndedReasonNe: components["schemas"]["SessionEndReason"];
        /**
         * @description Why the session ended: is one of up to 500 different values, separated by commas
         * @example [
         *       "revoked"
         *     ]
         */
        SessionFilterEndedReasonIn: components["schemas"]["SessionEndReason"][];
        /**
         * @description Why the session ended: has no value
         * @example true
         */
        SessionFilterEndedReasonIsnull: boolean;
        /**
         * @description Time of the login: equals
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterCreatedAt: string;
        /**
         * @description Time of the login: does not equal; matches null too
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterCreatedAtNe: string;
        /**
         * @description Time of the login: is one of up to 500 different values, separated by commas
         * @example [
         *       "2026-11-20T13:00:00.000Z"
         *     ]
         */
        SessionFilterCreatedAtIn: string[];
        /**
         * @description Time of the login: is after
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterCreatedAtGt: string;
        /**
         * @description Time of the login: is at or after
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterCreatedAtGte: string;
        /**
         * @description Time of the login: is before
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterCreatedAtLt: string;
        /**
         * @description Time of the login: is at or before
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterCreatedAtLte: string;
        /**
         * @description Last activity, to the minute: equals
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterLastSeenAt: string;
        /**
         * @description Last activity, to the minute: does not equal; matches null too
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterLastSeenAtNe: string;
        /**
         * @description Last activity, to the minute: is one of up to 500 different values, separated by commas
         * @example [
         *       "2026-11-20T13:00:00.000Z"
         *     ]
         */
        SessionFilterLastSeenAtIn: string[];
        /**
         * @description Last activity, to the minute: is after
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterLastSeenAtGt: string;
        /**
         * @description Last activity, to the minute: is at or after
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterLastSeenAtGte: string;
        /**
         * @description Last activity, to the minute: is before
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterLastSeenAtLt: string;
        /**
         * @description Last activity, to the minute: is at or before
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterLastSeenAtLte: string;
        /**
         * @description When the session expires without activity: equals
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterExpiresAt: string;
        /**
         * @description When the session expires without activity: does not equal; matches null too
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterExpiresAtNe: string;
        /**
         * @description When the session expires without activity: is one of up to 500 different values, separated by commas
         * @example [
         *       "2026-11-20T13:00:00.000Z"
         *     ]
         */
        SessionFilterExpiresAtIn: string[];
        /**
         * @description When the session expires without activity: is after
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterExpiresAtGt: string;
        /**
         * @description When the session expires without activity: is at or after
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterExpiresAtGte: string;
        /**
         * @description When the session expires without activity: is before
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterExpiresAtLt: string;
        /**
         * @description When the session expires without activity: is at or before
         * @example 2026-11-20T13:00:00.000Z
         */
        SessionFilterExpiresAtLte: string;
        /**
         * @description Id of the API key, a UUID. Other text returns 404.
         * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
         */
        KeyIdPath: string;
        /**
         * @description Sort field; nulls last, the id breaks ties
         * @example created_at
         */
        OrderBy: components["schemas"]["DeliverySort"];
        /**
         * @description Id of the operation, a UUID. Other text returns 404.
         * @example 0192f0c3-9e21-7a54-b1d7-4c5b6a798897
         */
        OperationIdPath: string;
        /**
         * @description `true`: all users that the caller may see. Not allowed together with a filter
         * @example false
         */
        Everyone: boolean;
        /**
         * @description `true`: changes nothing, and returns what would change and a `confirm_token`
         * @example true
         */
        DryRun: boolean;
        /**
         * @description Token from the preview of the same request. The request applies to exactly the previewed users. If other users match now, the request fails with `bulk.set_changed`. Valid for 10 minutes, and only once
         * @example eyJjIjoiMDE5MmYwYzMifQ.kV7d2RZs
         */
        ConfirmToken: string;
        /**
         * @description Number of users that you expect to match. Any other number fails with `bulk.expected_mismatch`
         * @example 120
         */
        Expected: number;
        /**
         * @description A unique text of your choice, such as a UUID. A repeated request with the same key within 24 hours is not carried out again but gets the first response. A different query or body is rejected with 422. A repeated request while the first is still running is rejected with 409. Responses with 401, 429 or 5xx and dry runs are not stored. A user and the API keys that they created can send 50,000 requests with a key in 24 hours. A response of more than 2 KiB counts as several requests, one for each 2 KiB.
         * @example 5f0c1a52-3b1e-4c37-9b8e-0d6f2a7c4e19
         */
        IdempotencyKey: string;
        /**
         * @description Id: equals
         * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
         */
        UserFilterUserId: string;
        /**
         * @description Id: does not equal; matches null too
         * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
         */
        UserFilterUserIdNe: string;
        /**
         * @description Id: is one of up to 500 different values, separated by commas
         * @example [
         *       "0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e"
         *     ]
         */
        UserFilterUserIdIn: string[];
        /**
         * @description Kind of user: equals
         * @example carrier
         */
        UserFilterUserType: components["schemas"]["UserType"];
        /**
         * @description Kind of user: does not equal; matches null too
         * @example carrier
         */
        UserFilterUserTypeNe: components["schemas"]["UserType"];
        /**
         * @description Kind of user: is one of up to 500 different values, separated by commas
         * @example [
         *       "carrier"
         *     ]
         */
        UserFilterUserTypeIn: components["schemas"]["UserType"][];
        /**
         * @description State: equals
         * @example active
         */
        UserFilterStatus: components["schemas"]["UserStatus"];
        /**
         * @description State: does not equal; matches null too
         * @example active
         */
        UserFilterStatusNe: components["schemas"]["UserStatus"];
        /**
         * @description State: is one of up to 500 different values, separated by commas
         * @example [
         *       "active"
         *     ]
         */
        UserFilterStatusIn: components["schemas"]["UserStatus"][];
        /**
         * @description Login name, without regard to case: equals
         * @example ada
         */
        UserFilterName: string;
        /**
         * @description Login name, without regard to case: does not equal; matches null too
         * @example ada
         */
        UserFilterNameNe: string;
        /**
         * @description Login name, without regard to case: is one of up to 500 different values, separated by commas
         * @example [
         *       "ada"
         *     ]
         */
        UserFilterNameIn: string[];
        /**
         * @description Login name, without regard to case: contains, ignoring case; at least 3 characters
         * @example ada
         */
        UserFilterNameLike: string;
        /**
         * @description E-mail address, without regard to case: equals
         * @example ada@example.com
         */
        UserFilterEmail: string;
        /**
         * @description E-mail address, without regard to case: does not equal; matches null too
         * @example ada@example.com
         */
        UserFilterEmailNe: string;
        /**
         * @description E-mail address, without regard to case: is one of up to 500 different values, separated by commas
         * @example [
         *       "ada@example.com"
         *     ]
         */
        UserFilterEmailIn: string[];
        /**
         * @description E-mail address, without regard to case: contains, ignoring case; at least 3 characters
         * @example ada@example.com
         */
        UserFilterEmailLike: string;
        /**
         * @description First name: equals
         * @example Ada
         */
        UserFilterFirstName: string;
        /**
         * @description First name: does not equal; matches null too
         * @example Ada
         */
        UserFilterFirstNameNe: string;
        /**
         * @description First name: is one of up to 500 different values, separated by commas
         * @example [
         *       "Ada"
         *     ]
         */
        UserFilterFirstNameIn: string[];
        /**
         * @description First name: contains, ignoring case; at least 3 characters
         * @example Ada
         */
        UserFilterFirstNameLike: string;
        /**
         * @description Last name: equals
         * @example Lovelace
         */
        UserFilterLastName: string;
        /**
         * @description Last name: does not equal; matches null too
         * @example Lovelace
         */
        UserFilterLastNameNe: string;
        /**
         * @description Last name: is one of up to 500 different values, separated by commas
         * @example [
         *       "Lovelace"
         *     ]
         */
        UserFilterLastNameIn: string[];
        /**
         * @description Last name: contains, ignoring case; at least 3 characters
         * @example Lovelace
         */
        UserFilterLastNameLike: string;
        /**
         * @description Phone number: equals
         * @example +4312345678
         */
        UserFilterPhone: string;
        /**
         * @description Phone number: does not equal; matches null too
         * @example +4312345678
         */
        UserFilterPhoneNe: string;
        /**
         * @description Phone number: is one of up to 500 different values, separated by commas
         * @example [
         *       "+4312345678"
         *     ]
         */
        UserFilterPhoneIn: string[];
        /**
         * @description Phone number: has no value
         * @example true
         */
        UserFilterPhoneIsnull: boolean;
        /**
         * @description Phone number: contains, ignoring case; at least 3 characters
         * @example +4312345678
         */
        UserFilterPhoneLike: string;
        /**
         * @description Job title: equals
         * @example Head of Operations
         */
        UserFilterJobTitle: string;
        /**
         * @description Job title: does not equal; matches null too
         * @example Head of Operations
         */
        UserFilterJobTitleNe: string;
        /**
         * @description Job title: is one of up to 500 different values, separated by commas
         * @example [
         *       "Head of Operations"
         *     ]
         */
        UserFilterJobTitleIn: string[];
        /**
         * @description Job title: has no value
         * @example true
         */
        UserFilterJobTitleIsnull: boolean;
        /**
         * @description Job title: contains, ignoring case; at least 3 characters
         * @example Head of Operations
         */
        UserFilterJobTitleLike: string;
        /**
         * @description Department: equals
         * @example Dispatch
         */
        UserFilterDepartment: string;
        /**
         * @description Department: does not equal; matches null too
         * @example Dispatch
         */
        UserFilterDepartmentNe: string;
        /**
         * @description Department: is one of up to 500 different values, separated by commas
         * @example [
         *       "Dispatch"
         *     ]
         */
        UserFilterDepartmentIn: string[];
        /**
         * @description Department: has no value
         * @example true
         */
        UserFilterDepartmentIsnull: boolean;
        /**
         * @description Department: contains, ignoring case; at least 3 characters
         * @example Dispatch
         */
        UserFilterDepartmentLike: string;
        /**
         * @description Language: equals
         * @example en-GB
         */
        UserFilterLocale: string;
        /**
         * @description Language: does not equal; matches null too
         * @example en-GB
         */
        UserFilterLocaleNe: string;
        /**
         * @description Language: is one of up to 500 different values, separated by commas
         * @example [
         *       "en-GB"
         *     ]
         */
        UserFilterLocaleIn: string[];
        /**
         * @description Language: has no value
         * @example true
         */
        UserFilterLocaleIsnull: boolean;
        /**
         * @description Language: contains, ignoring case; at least 3 characters
         * @example en-GB
         */
        UserFilterLocaleLike: string;
        /**
         * @description Time zone: equals
         * @example Europe/Vienna
         */
        UserFilterTimezone: string;
        /**
         * @description Time zone: does not equal; matches null too
         * @example Europe/Vienna
         */
        UserFilterTimezoneNe: string;
        /**
         * @description Time zone: is one of up to 500 different values, separated by commas
         * @example [
         *       "Europe/Vienna"
         *     ]
         */
        UserFilterTimezoneIn: string[];
        /**
         * @description Time zone: has no value
         * @example true
         */
        UserFilterTimezoneIsnull: boolean;
        /**
         * @description Time zone: contains, ignoring case; at least 3 characters
         * @example Europe/Vienna
         */
        UserFilterTimezoneLike: string;
        /**
         * @description Carrier: equals
         * @example acme
         */
        UserFilterCarrierId: string;
        /**
         * @description Carrier: does not equal; matches null too
         * @example acme
         */
        UserFilterCarrierIdNe: string;
        /**
         * @description Carrier: is one of up to 500 different values, separated by commas
         * @example [
         *       "acme"
         *     ]
         */
        UserFilterCarrierIdIn: string[];
        /**
         * @description Carrier: has no value
         * @example true
         */
        UserFilterCarrierIdIsnull: boolean;
        /**
         * @description Carrier: contains, ignoring case; at least 3 characters
         * @example acme
         */
        UserFilterCarrierIdLike: string;
        /**
         * @description A role that the user has: equals
         * @example carrier_user
         */
        UserFilterRole: string;
        /**
         * @description A role that the user has: is one of up to 500 different values, separated by commas
         * @example [
         *       "carrier_user"
         *     ]
         */
        UserFilterRoleIn: string[];
        /**
         * @description Seen within 5 minutes in a session that has not ended: equals
         * @example true
         */
        UserFilterOnline: boolean;
        /**
         * @description Seen within 5 minutes in a session that has not ended: does not equal; matches null too
         * @example true
         */
        UserFilterOnlineNe: boolean;
        /**
         * @description Seen within 5 minutes in a session that has not ended: is one of up to 500 different values, separated by commas
         * @example [
         *       true
         *     ]
         */
        UserFilterOnlineIn: boolean[];
        /**
         * @description Address of the last login (address or CIDR): equals
         * @example 203.0.113.7
         */
        UserFilterLastLoginIp: string;
        /**
         * @description Address of the last login (address or CIDR): does not equal; matches null too
         * @example 203.0.113.7
         */
        UserFilterLastLoginIpNe: string;
        /**
         * @description Address of the last login (address or CIDR): is one of up to 500 different values, separated by commas
         * @example [
         *       "203.0.113.7"
         *     ]
         */
        UserFilterLastLoginIpIn: string[];
        /**
         * @description Address of the last login (address or CIDR): has no value
         * @example true
         */
        UserFilterLastLoginIpIsnull: boolean;
        /**
         * @description Must change the password before any other request: equals
         * @example false
         */
        UserFilterMustChangePassword: boolean;
        /**
         * @description Must change the password before any other request: does not equal; matches null too
         * @example false
         */
        UserFilterMustChangePasswordNe: boolean;
        /**
         * @description Must change the password before any other request: is one of up to 500 different values, separated by commas
         * @example [
         *       false
         *     ]
         */
        UserFilterMustChangePasswordIn: boolean[];
        /**
         * @description Has a confirmed second factor: equals
         * @example true
         */
        UserFilterHasSecondFactor: boolean;
        /**
         * @description Has a confirmed second factor: does not equal; matches null too
         * @example true
         */
        UserFilterHasSecondFactorNe: boolean;
        /**
         * @description Has a confirmed second factor: is one of up to 500 different values, separated by commas
         * @example [
         *       true
         *     ]
         */
        UserFilterHasSecondFactorIn: boolean[];
        /**
         * @description Has no second factor although one is required now: equals
         * @example true
         */
        UserFilterMustEnrollSecondFactor: boolean;
        /**
         * @description Has no second factor although one is required now: does not equal; matches null too
         * @example true
         */
        UserFilterMustEnrollSecondFactorNe: boolean;
        /**
         * @description Has no second factor although one is required now: is one of up to 500 different values, separated by commas
         * @example [
         *       true
         *     ]
         */
        UserFilterMustEnrollSecondFactorIn: boolean[];
        /**
         * @description When the user was created: equals
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterCreatedAt: string;
        /**
         * @description When the user was created: does not equal; matches null too
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterCreatedAtNe: string;
        /**
         * @description When the user was created: is one of up to 500 different values, separated by commas
         * @example [
         *       "2026-11-20T13:00:00.000Z"
         *     ]
         */
        UserFilterCreatedAtIn: string[];
        /**
         * @description When the user was created: is after
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterCreatedAtGt: string;
        /**
         * @description When the user was created: is at or after
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterCreatedAtGte: string;
        /**
         * @description When the user was created: is before
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterCreatedAtLt: string;
        /**
         * @description When the user was created: is at or before
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterCreatedAtLte: string;
        /**
         * @description When a field was last changed: equals
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterUpdatedAt: string;
        /**
         * @description When a field was last changed: does not equal; matches null too
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterUpdatedAtNe: string;
        /**
         * @description When a field was last changed: is one of up to 500 different values, separated by commas
         * @example [
         *       "2026-11-20T13:00:00.000Z"
         *     ]
         */
        UserFilterUpdatedAtIn: string[];
        /**
         * @description When a field was last changed: is after
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterUpdatedAtGt: string;
        /**
         * @description When a field was last changed: is at or after
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterUpdatedAtGte: string;
        /**
         * @description When a field was last changed: is before
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterUpdatedAtLt: string;
        /**
         * @description When a field was last changed: is at or before
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterUpdatedAtLte: string;
        /**
         * @description Last login: equals
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLastLoginAt: string;
        /**
         * @description Last login: does not equal; matches null too
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLastLoginAtNe: string;
        /**
         * @description Last login: is one of up to 500 different values, separated by commas
         * @example [
         *       "2026-11-20T13:00:00.000Z"
         *     ]
         */
        UserFilterLastLoginAtIn: string[];
        /**
         * @description Last login: is after
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLastLoginAtGt: string;
        /**
         * @description Last login: is at or after
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLastLoginAtGte: string;
        /**
         * @description Last login: is before
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLastLoginAtLt: string;
        /**
         * @description Last login: is at or before
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLastLoginAtLte: string;
        /**
         * @description Last login: has no value
         * @example true
         */
        UserFilterLastLoginAtIsnull: boolean;
        /**
         * @description Last activity: equals
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLastSeenAt: string;
        /**
         * @description Last activity: does not equal; matches null too
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLastSeenAtNe: string;
        /**
         * @description Last activity: is one of up to 500 different values, separated by commas
         * @example [
         *       "2026-11-20T13:00:00.000Z"
         *     ]
         */
        UserFilterLastSeenAtIn: string[];
        /**
         * @description Last activity: is after
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLastSeenAtGt: string;
        /**
         * @description Last activity: is at or after
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLastSeenAtGte: string;
        /**
         * @description Last activity: is before
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLastSeenAtLt: string;
        /**
         * @description Last activity: is at or before
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLastSeenAtLte: string;
        /**
         * @description Last activity: has no value
         * @example true
         */
        UserFilterLastSeenAtIsnull: boolean;
        /**
         * @description When the password was last set: equals
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterPasswordChangedAt: string;
        /**
         * @description When the password was last set: does not equal; matches null too
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterPasswordChangedAtNe: string;
        /**
         * @description When the password was last set: is one of up to 500 different values, separated by commas
         * @example [
         *       "2026-11-20T13:00:00.000Z"
         *     ]
         */
        UserFilterPasswordChangedAtIn: string[];
        /**
         * @description When the password was last set: is after
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterPasswordChangedAtGt: string;
        /**
         * @description When the password was last set: is at or after
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterPasswordChangedAtGte: string;
        /**
         * @description When the password was last set: is before
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterPasswordChangedAtLt: string;
        /**
         * @description When the password was last set: is at or before
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterPasswordChangedAtLte: string;
        /**
         * @description When the password was last set: has no value
         * @example true
         */
        UserFilterPasswordChangedAtIsnull: boolean;
        /**
         * @description End of the account lockout: equals
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLockedUntil: string;
        /**
         * @description End of the account lockout: does not equal; matches null too
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLockedUntilNe: string;
        /**
         * @description End of the account lockout: is one of up to 500 different values, separated by commas
         * @example [
         *       "2026-11-20T13:00:00.000Z"
         *     ]
         */
        UserFilterLockedUntilIn: string[];
        /**
         * @description End of the account lockout: is after
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLockedUntilGt: string;
        /**
         * @description End of the account lockout: is at or after
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLockedUntilGte: string;
        /**
         * @description End of the account lockout: is before
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLockedUntilLt: string;
        /**
         * @description End of the account lockout: is at or before
         * @example 2026-11-20T13:00:00.000Z
         */
        UserFilterLockedUntilLte: string;
        /**
         * @description End of the account lockout: has no value
         * @example true
         */
        UserFilterLockedUntilIsnull: boolean;
        /**
         * @description Up to 5 words, each found in one of name, e-mail, first name, last name, job title, department; words of 1 or 2 characters match beginnings
         * @example ada
         */
        UserFilterQ: string;
        /**
         * @description Format of the file
         * @example csv
         */
        Format: components["schemas"]["ExportFormat"];
        /**
         * @description Columns of the file, in this order; all by default. Names that repeat are ignored
         * @example [
         *       "user_id"
         *     ]
         */
        ColumnIn: components["schemas"]["ExportColumn"][];
        /**
         * @description Character between the cells of a CSV file. Spreadsheets in German expect `semicolon`
         * @example comma
         */
        Delimiter: components["schemas"]["CsvDelimiter"];
        /**
         * @description `true`: begins a CSV file with a byte order mark, so that Excel reads it as UTF-8
         * @example true
         */
        Bom: boolean;
        /**
         * @description `true`: includes `password_hash`, except of users that the caller may not change; requires `user:purge` and `format=ndjson`
         * @example true
         */
        Hashes: boolean;
        /**
         * @description Token of the link
         * @example Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
         */
        TokenPath: string;
        /**
         * @description Id of the user, a UUID. Other text returns 404.
         * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
         */
        UserIdPath: string;
        /**
         * @description API key of a portal, with `login:forward`. For users within the scope of the key, limits and rules for addresses apply to `X-User-Address`.
         * @example cik_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
         */
        XApiKey: string;
        /**
         * @description IP address of the user; required with `X-Api-Key`
         * @example 203.0.113.7
         */
        XUserAddress: string;
        /**
         * @description Id of the second factor, a UUID. Other text returns 404.
         * @example 0192f0c6-1d2e-7f3a-8b4c-5d6e7f8a9b0c
         */
        FactorIdPath: string;
        /**
         * @description Id of the webhook, a UUID. Other text returns 404.
         * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
         */
        WebhookIdPath: string;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listEvents: {
        parameters: {
            query?: {
                /**
                 * @description Sort field; nulls last, the id breaks ties
                 * @example occurred_at
                 */
                order_by?: components["schemas"]["EventSort"];
                /**
                 * @description Direction of the sort
                 * @example desc
                 */
                order_dir?: components["parameters"]["OrderDir"];
                /**
                 * @description Rows per page
                 * @example 50
                 */
                per_page?: components["parameters"]["PerPage"];
                /**
                 * @description Number of the page, from 1. `page` × `per_page` is at most 100,000. Cannot be combined with `cursor`
                 * @example 1
                 */
                page?: components["parameters"]["Page"];
                /**
                 * @description `next_cursor` of the previous page; valid for the same caller, filter and sort
                 * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
                 */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description `estimated` counts up to 10,000 rows and estimates larger totals; `exact` counts all rows; `none` leaves `total` null
                 * @example estimated
                 */
                count?: components["parameters"]["Count"];
                /**
                 * @description Id of the event: equals
                 * @example 0192f0c4-2f10-7b6d-8e93-5a4b3c2d1e0f
                 */
                event_id?: string;
                /**
                 * @description Id of the event: does not equal; matches null too
                 * @example 0192f0c4-2f10-7b6d-8e93-5a4b3c2d1e0f
                 */
                event_id_ne?: string;
                /**
                 * @description Id of the event: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c4-2f10-7b6d-8e93-5a4b3c2d1e0f"
                 *     ]
                 */
                event_id_in?: string[];
                /**
                 * @description What happened, such as `user.changed`: equals
                 * @example user.changed
                 */
                event_type?: string;
                /**
                 * @description What happened, such as `user.changed`: does not equal; matches null too
                 * @example user.changed
                 */
                event_type_ne?: string;
                /**
                 * @description What happened, such as `user.changed`: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "user.changed"
                 *     ]
                 */
                event_type_in?: string[];
                /**
                 * @description What happened, such as `user.changed`: contains, ignoring case; at least 3 characters
                 * @example user.changed
                 */
                event_type_like?: string;
                /**
                 * @description Time of the event: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                occurred_at?: string;
                /**
                 * @description Time of the event: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                occurred_at_ne?: string;
                /**
                 * @description Time of the event: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                occurred_at_in?: string[];
                /**
                 * @description Time of the event: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                occurred_at_gt?: string;
                /**
                 * @description Time of the event: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                occurred_at_gte?: string;
                /**
                 * @description Time of the event: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                occurred_at_lt?: string;
                /**
                 * @description Time of the event: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                occurred_at_lte?: string;
                /**
                 * @description Id of the user or API key that acted: equals
                 * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
                 */
                actor_id?: string;
                /**
                 * @description Id of the user or API key that acted: does not equal; matches null too
                 * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
                 */
                actor_id_ne?: string;
                /**
                 * @description Id of the user or API key that acted: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70"
                 *     ]
                 */
                actor_id_in?: string[];
                /**
                 * @description Id of the user or API key that acted: has no value
                 * @example true
                 */
                actor_id_isnull?: boolean;
                /**
                 * @description Kind of actor: equals
                 * @example user
                 */
                actor_type?: components["schemas"]["ActorType"];
                /**
                 * @description Kind of actor: does not equal; matches null too
                 * @example user
                 */
                actor_type_ne?: components["schemas"]["ActorType"];
                /**
                 * @description Kind of actor: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "user"
                 *     ]
                 */
                actor_type_in?: components["schemas"]["ActorType"][];
                /**
                 * @description Kind of target: equals
                 * @example user
                 */
                target_type?: string;
                /**
                 * @description Kind of target: does not equal; matches null too
                 * @example user
                 */
                target_type_ne?: string;
                /**
                 * @description Kind of target: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "user"
                 *     ]
                 */
                target_type_in?: string[];
                /**
                 * @description Kind of target: has no value
                 * @example true
                 */
                target_type_isnull?: boolean;
                /**
                 * @description Kind of target: contains, ignoring case; at least 3 characters
                 * @example user
                 */
                target_type_like?: string;
                /**
                 * @description Id of the target, such as the user: equals
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                target_id?: string;
                /**
                 * @description Id of the target, such as the user: does not equal; matches null too
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                target_id_ne?: string;
                /**
                 * @description Id of the target, such as the user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e"
                 *     ]
                 */
                target_id_in?: string[];
                /**
                 * @description Id of the target, such as the user: has no value
                 * @example true
                 */
                target_id_isnull?: boolean;
                /**
                 * @description Carrier of the user concerned: equals
                 * @example acme
                 */
                carrier_id?: string;
                /**
                 * @description Carrier of the user concerned: does not equal; matches null too
                 * @example acme
                 */
                carrier_id_ne?: string;
                /**
                 * @description Carrier of the user concerned: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "acme"
                 *     ]
                 */
                carrier_id_in?: string[];
                /**
                 * @description Carrier of the user concerned: has no value
                 * @example true
                 */
                carrier_id_isnull?: boolean;
                /**
                 * @description Carrier of the user concerned: contains, ignoring case; at least 3 characters
                 * @example acme
                 */
                carrier_id_like?: string;
                /**
                 * @description Bulk change that the event is part of: equals
                 * @example 0192f0c3-9e21-7a54-b1d7-4c5b6a798897
                 */
                operation_id?: string;
                /**
                 * @description Bulk change that the event is part of: does not equal; matches null too
                 * @example 0192f0c3-9e21-7a54-b1d7-4c5b6a798897
                 */
                operation_id_ne?: string;
                /**
                 * @description Bulk change that the event is part of: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c3-9e21-7a54-b1d7-4c5b6a798897"
                 *     ]
                 */
                operation_id_in?: string[];
                /**
                 * @description Bulk change that the event is part of: has no value
                 * @example true
                 */
                operation_id_isnull?: boolean;
                /**
                 * @description Session of the request: equals
                 * @example 0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c
                 */
                session_id?: string;
                /**
                 * @description Session of the request: does not equal; matches null too
                 * @example 0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c
                 */
                session_id_ne?: string;
                /**
                 * @description Session of the request: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c"
                 *     ]
                 */
                session_id_in?: string[];
                /**
                 * @description Session of the request: has no value
                 * @example true
                 */
                session_id_isnull?: boolean;
                /**
                 * @description IP address of the request (address or CIDR): equals
                 * @example 203.0.113.7
                 */
                ip?: string;
                /**
                 * @description IP address of the request (address or CIDR): does not equal; matches null too
                 * @example 203.0.113.7
                 */
                ip_ne?: string;
                /**
                 * @description IP address of the request (address or CIDR): is one of up to 500 different values, separated by commas
                 * @example [
                 *       "203.0.113.7"
                 *     ]
                 */
                ip_in?: string[];
                /**
                 * @description IP address of the request (address or CIDR): has no value
                 * @example true
                 */
                ip_isnull?: boolean;
                /**
                 * @description Id of the request: equals
                 * @example a3c1f6de-52b8-4f0e-9d27-6b8e1c0f4a95
                 */
                request_id?: string;
                /**
                 * @description Id of the request: does not equal; matches null too
                 * @example a3c1f6de-52b8-4f0e-9d27-6b8e1c0f4a95
                 */
                request_id_ne?: string;
                /**
                 * @description Id of the request: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "a3c1f6de-52b8-4f0e-9d27-6b8e1c0f4a95"
                 *     ]
                 */
                request_id_in?: string[];
                /**
                 * @description Id of the request: has no value
                 * @example true
                 */
                request_id_isnull?: boolean;
                /**
                 * @description Id of the request: contains, ignoring case; at least 3 characters
                 * @example a3c1f6de-52b8-4f0e-9d27-6b8e1c0f4a95
                 */
                request_id_like?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditListResponse"];
                };
            };
        };
    };
    listChanges: {
        parameters: {
            query?: {
                /**
                 * @description `next_cursor` of the previous page, or `changes_cursor` of a list or export of users. Without it, the page begins with the oldest change that is kept
                 * @example WyI5MTQiLCIwMTkyIl0.mZ4kTq1v
                 */
                after?: string;
                /**
                 * @description Changes per page
                 * @example 50
                 */
                per_page?: number;
                /**
                 * @description Seconds to wait for a change if there is none. The response comes with the first changes, at most 100. The wait can end early with an empty page, for example when the service stops
                 * @example 30
                 */
                wait?: number;
                /**
                 * @description `values`: adds the user to each change of a user; needs `user:read`
                 * @example values
                 */
                include?: components["schemas"]["ChangeInclude"];
                /**
                 * @description What happened: equals
                 * @example user.created
                 */
                type?: components["schemas"]["ChangeType"];
                /**
                 * @description What happened: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "user.created"
                 *     ]
                 */
                type_in?: components["schemas"]["ChangeType"][];
                /**
                 * @description Kind of target: equals
                 * @example user
                 */
                target_type?: components["schemas"]["ChangedTarget"];
                /**
                 * @description Kind of target: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "user"
                 *     ]
                 */
                target_type_in?: components["schemas"]["ChangedTarget"][];
                /**
                 * @description Carrier of the user concerned: equals
                 * @example acme
                 */
                carrier_id?: string;
                /**
                 * @description Carrier of the user concerned: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "acme"
                 *     ]
                 */
                carrier_id_in?: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The next changes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeListResponse"];
                };
            };
        };
    };
    createRole: {
        parameters: {
            query?: {
                /**
                 * @description `true`: accepts the name of a module that differs in one letter from a module of this service
                 * @example false
                 */
                new_prefix?: components["parameters"]["NewPrefix"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "support",
                 *       "user_types": [
                 *         "carrier"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["CreateRoleRequest"];
            };
        };
        responses: {
            /** @description The role */
            201: {
                headers: {
                    /** @description `version`, for `If-Match` */
                    ETag?: string;
                    /** @description Path of the role */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoleResponse"];
                };
            };
        };
    };
    listRoles: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All roles, sorted by name */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoleListResponse"];
                };
            };
        };
    };
    getRole: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Name of the role, case-sensitive
                 * @example carrier_user
                 */
                role: components["parameters"]["RolePath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The role */
            200: {
                headers: {
                    /** @description `version`, for `If-Match` */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoleResponse"];
                };
            };
        };
    };
    deleteRole: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description `ETag` of the version that the caller expects. Fails with 412 if the current version differs
                 * @example "3"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /**
                 * @description Name of the role, case-sensitive
                 * @example carrier_user
                 */
                role: components["parameters"]["RolePath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The role is deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    changeRole: {
        parameters: {
            query?: {
                /**
                 * @description `true`: accepts the name of a module that differs in one letter from a module of this service
                 * @example false
                 */
                new_prefix?: components["parameters"]["NewPrefix"];
            };
            header?: {
                /**
                 * @description `ETag` of the version that the caller expects. Fails with 412 if the current version differs
                 * @example "3"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /**
                 * @description Name of the role, case-sensitive
                 * @example carrier_user
                 */
                role: components["parameters"]["RolePath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "description": "Helps users of all carriers"
                 *     }
                 */
                "application/json": components["schemas"]["ChangeRoleRequest"];
            };
        };
        responses: {
            /** @description The role after the change */
            200: {
                headers: {
                    /** @description `version`, for `If-Match` */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoleResponse"];
                };
            };
        };
    };
    listSessions: {
        parameters: {
            query?: {
                /**
                 * @description Sort field; nulls last, the id breaks ties
                 * @example created_at
                 */
                order_by?: components["schemas"]["SessionSort"];
                /**
                 * @description Direction of the sort
                 * @example desc
                 */
                order_dir?: components["parameters"]["OrderDir"];
                /**
                 * @description Rows per page
                 * @example 50
                 */
                per_page?: components["parameters"]["PerPage"];
                /**
                 * @description Number of the page, from 1. `page` × `per_page` is at most 100,000. Cannot be combined with `cursor`
                 * @example 1
                 */
                page?: components["parameters"]["Page"];
                /**
                 * @description `next_cursor` of the previous page; valid for the same caller, filter and sort
                 * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
                 */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description `estimated` counts up to 10,000 rows and estimates larger totals; `exact` counts all rows; `none` leaves `total` null
                 * @example estimated
                 */
                count?: components["parameters"]["Count"];
                /**
                 * @description Id of the session: equals
                 * @example 0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c
                 */
                session_id?: components["parameters"]["SessionFilterSessionId"];
                /**
                 * @description Id of the session: does not equal; matches null too
                 * @example 0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c
                 */
                session_id_ne?: components["parameters"]["SessionFilterSessionIdNe"];
                /**
                 * @description Id of the session: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c"
                 *     ]
                 */
                session_id_in?: components["parameters"]["SessionFilterSessionIdIn"];
                /**
                 * @description Id of the user: equals
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id?: components["parameters"]["SessionFilterUserId"];
                /**
                 * @description Id of the user: does not equal; matches null too
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id_ne?: components["parameters"]["SessionFilterUserIdNe"];
                /**
                 * @description Id of the user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e"
                 *     ]
                 */
                user_id_in?: components["parameters"]["SessionFilterUserIdIn"];
                /**
                 * @description Kind of user: equals
                 * @example carrier
                 */
                user_type?: components["parameters"]["SessionFilterUserType"];
                /**
                 * @description Kind of user: does not equal; matches null too
                 * @example carrier
                 */
                user_type_ne?: components["parameters"]["SessionFilterUserTypeNe"];
                /**
                 * @description Kind of user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "carrier"
                 *     ]
                 */
                user_type_in?: components["parameters"]["SessionFilterUserTypeIn"];
                /**
                 * @description Login name of the user: equals
                 * @example ada
                 */
                name?: components["parameters"]["SessionFilterName"];
                /**
                 * @description Login name of the user: does not equal; matches null too
                 * @example ada
                 */
                name_ne?: components["parameters"]["SessionFilterNameNe"];
                /**
                 * @description Login name of the user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "ada"
                 *     ]
                 */
                name_in?: components["parameters"]["SessionFilterNameIn"];
                /**
                 * @description Login name of the user: contains, ignoring case; at least 3 characters
                 * @example ada
                 */
                name_like?: components["parameters"]["SessionFilterNameLike"];
                /**
                 * @description E-mail address of the user: equals
                 * @example ada@example.com
                 */
                email?: components["parameters"]["SessionFilterEmail"];
                /**
                 * @description E-mail address of the user: does not equal; matches null too
                 * @example ada@example.com
                 */
                email_ne?: components["parameters"]["SessionFilterEmailNe"];
                /**
                 * @description E-mail address of the user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "ada@example.com"
                 *     ]
                 */
                email_in?: components["parameters"]["SessionFilterEmailIn"];
                /**
                 * @description E-mail address of the user: contains, ignoring case; at least 3 characters
                 * @example ada@example.com
                 */
                email_like?: components["parameters"]["SessionFilterEmailLike"];
                /**
                 * @description Carrier of the user: equals
                 * @example acme
                 */
                carrier_id?: components["parameters"]["SessionFilterCarrierId"];
                /**
                 * @description Carrier of the user: does not equal; matches null too
                 * @example acme
                 */
                carrier_id_ne?: components["parameters"]["SessionFilterCarrierIdNe"];
                /**
                 * @description Carrier of the user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "acme"
                 *     ]
                 */
                carrier_id_in?: components["parameters"]["SessionFilterCarrierIdIn"];
                /**
                 * @description Carrier of the user: has no value
                 * @example true
                 */
                carrier_id_isnull?: components["parameters"]["SessionFilterCarrierIdIsnull"];
                /**
                 * @description Carrier of the user: contains, ignoring case; at least 3 characters
                 * @example acme
                 */
                carrier_id_like?: components["parameters"]["SessionFilterCarrierIdLike"];
                /**
                 * @description Address of the login (address or CIDR): equals
                 * @example 203.0.113.7
                 */
                ip?: components["parameters"]["SessionFilterIp"];
                /**
                 * @description Address of the login (address or CIDR): does not equal; matches null too
                 * @example 203.0.113.7
                 */
                ip_ne?: components["parameters"]["SessionFilterIpNe"];
                /**
                 * @description Address of the login (address or CIDR): is one of up to 500 different values, separated by commas
                 * @example [
                 *       "203.0.113.7"
                 *     ]
                 */
                ip_in?: components["parameters"]["SessionFilterIpIn"];
                /**
                 * @description Address of the login (address or CIDR): has no value
                 * @example true
                 */
                ip_isnull?: components["parameters"]["SessionFilterIpIsnull"];
                /**
                 * @description User agent of the login: equals
                 * @example Mozilla/5.0 (X11; Linux x86_64) Firefox/131.0
                 */
                user_agent?: components["parameters"]["SessionFilterUserAgent"];
                /**
                 * @description User agent of the login: does not equal; matches null too
                 * @example Mozilla/5.0 (X11; Linux x86_64) Firefox/131.0
                 */
                user_agent_ne?: components["parameters"]["SessionFilterUserAgentNe"];
                /**
                 * @description User agent of the login: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Mozilla/5.0 (X11; Linux x86_64) Firefox/131.0"
                 *     ]
                 */
                user_agent_in?: components["parameters"]["SessionFilterUserAgentIn"];
                /**
                 * @description User agent of the login: has no value
                 * @example true
                 */
                user_agent_isnull?: components["parameters"]["SessionFilterUserAgentIsnull"];
                /**
                 * @description User agent of the login: contains, ignoring case; at least 3 characters
                 * @example Mozilla/5.0 (X11; Linux x86_64) Firefox/131.0
                 */
                user_agent_like?: components["parameters"]["SessionFilterUserAgentLike"];
                /**
                 * @description Whether the session is live: equals
                 * @example true
                 */
                active?: components["parameters"]["SessionFilterActive"];
                /**
                 * @description Whether the session is live: does not equal; matches null too
                 * @example true
                 */
                active_ne?: components["parameters"]["SessionFilterActiveNe"];
                /**
                 * @description Whether the session is live: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                active_in?: components["parameters"]["SessionFilterActiveIn"];
                /**
                 * @description Whether the user authenticated with two factors: equals
                 * @example true
                 */
                mfa?: components["parameters"]["SessionFilterMfa"];
                /**
                 * @description Whether the user authenticated with two factors: does not equal; matches null too
                 * @example true
                 */
                mfa_ne?: components["parameters"]["SessionFilterMfaNe"];
                /**
                 * @description Whether the user authenticated with two factors: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                mfa_in?: components["parameters"]["SessionFilterMfaIn"];
                /**
                 * @description Why the session ended: equals
                 * @example revoked
                 */
                ended_reason?: components["parameters"]["SessionFilterEndedReason"];
                /**
                 * @description Why the session ended: does not equal; matches null too
                 * @example revoked
                 */
                ended_reason_ne?: components["parameters"]["SessionFilterEndedReasonNe"];
                /**
                 * @description Why the session ended: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "revoked"
                 *     ]
                 */
                ended_reason_in?: components["parameters"]["SessionFilterEndedReasonIn"];
                /**
                 * @description Why the session ended: has no value
                 * @example true
                 */
                ended_reason_isnull?: components["parameters"]["SessionFilterEndedReasonIsnull"];
                /**
                 * @description Time of the login: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at?: components["parameters"]["SessionFilterCreatedAt"];
                /**
                 * @description Time of the login: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_ne?: components["parameters"]["SessionFilterCreatedAtNe"];
                /**
                 * @description Time of the login: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                created_at_in?: components["parameters"]["SessionFilterCreatedAtIn"];
                /**
                 * @description Time of the login: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gt?: components["parameters"]["SessionFilterCreatedAtGt"];
                /**
                 * @description Time of the login: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gte?: components["parameters"]["SessionFilterCreatedAtGte"];
                /**
                 * @description Time of the login: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lt?: components["parameters"]["SessionFilterCreatedAtLt"];
                /**
                 * @description Time of the login: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lte?: components["parameters"]["SessionFilterCreatedAtLte"];
                /**
                 * @description Last activity, to the minute: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at?: components["parameters"]["SessionFilterLastSeenAt"];
                /**
                 * @description Last activity, to the minute: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_ne?: components["parameters"]["SessionFilterLastSeenAtNe"];
                /**
                 * @description Last activity, to the minute: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                last_seen_at_in?: components["parameters"]["SessionFilterLastSeenAtIn"];
                /**
                 * @description Last activity, to the minute: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_gt?: components["parameters"]["SessionFilterLastSeenAtGt"];
                /**
                 * @description Last activity, to the minute: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_gte?: components["parameters"]["SessionFilterLastSeenAtGte"];
                /**
                 * @description Last activity, to the minute: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_lt?: components["parameters"]["SessionFilterLastSeenAtLt"];
                /**
                 * @description Last activity, to the minute: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_lte?: components["parameters"]["SessionFilterLastSeenAtLte"];
                /**
                 * @description When the session expires without activity: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at?: components["parameters"]["SessionFilterExpiresAt"];
                /**
                 * @description When the session expires without activity: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_ne?: components["parameters"]["SessionFilterExpiresAtNe"];
                /**
                 * @description When the session expires without activity: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                expires_at_in?: components["parameters"]["SessionFilterExpiresAtIn"];
                /**
                 * @description When the session expires without activity: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_gt?: components["parameters"]["SessionFilterExpiresAtGt"];
                /**
                 * @description When the session expires without activity: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_gte?: components["parameters"]["SessionFilterExpiresAtGte"];
                /**
                 * @description When the session expires without activity: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_lt?: components["parameters"]["SessionFilterExpiresAtLt"];
                /**
                 * @description When the session expires without activity: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_lte?: components["parameters"]["SessionFilterExpiresAtLte"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of sessions */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionListResponse"];
                };
            };
        };
    };
    endSessions: {
        parameters: {
            query?: {
                /**
                 * @description Id of the session: equals
                 * @example 0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c
                 */
                session_id?: components["parameters"]["SessionFilterSessionId"];
                /**
                 * @description Id of the session: does not equal; matches null too
                 * @example 0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c
                 */
                session_id_ne?: components["parameters"]["SessionFilterSessionIdNe"];
                /**
                 * @description Id of the session: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c"
                 *     ]
                 */
                session_id_in?: components["parameters"]["SessionFilterSessionIdIn"];
                /**
                 * @description Id of the user: equals
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id?: components["parameters"]["SessionFilterUserId"];
                /**
                 * @description Id of the user: does not equal; matches null too
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id_ne?: components["parameters"]["SessionFilterUserIdNe"];
                /**
                 * @description Id of the user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e"
                 *     ]
                 */
                user_id_in?: components["parameters"]["SessionFilterUserIdIn"];
                /**
                 * @description Kind of user: equals
                 * @example carrier
                 */
                user_type?: components["parameters"]["SessionFilterUserType"];
                /**
                 * @description Kind of user: does not equal; matches null too
                 * @example carrier
                 */
                user_type_ne?: components["parameters"]["SessionFilterUserTypeNe"];
                /**
                 * @description Kind of user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "carrier"
                 *     ]
                 */
                user_type_in?: components["parameters"]["SessionFilterUserTypeIn"];
                /**
                 * @description Login name of the user: equals
                 * @example ada
                 */
                name?: components["parameters"]["SessionFilterName"];
                /**
                 * @description Login name of the user: does not equal; matches null too
                 * @example ada
                 */
                name_ne?: components["parameters"]["SessionFilterNameNe"];
                /**
                 * @description Login name of the user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "ada"
                 *     ]
                 */
                name_in?: components["parameters"]["SessionFilterNameIn"];
                /**
                 * @description Login name of the user: contains, ignoring case; at least 3 characters
                 * @example ada
                 */
                name_like?: components["parameters"]["SessionFilterNameLike"];
                /**
                 * @description E-mail address of the user: equals
                 * @example ada@example.com
                 */
                email?: components["parameters"]["SessionFilterEmail"];
                /**
                 * @description E-mail address of the user: does not equal; matches null too
                 * @example ada@example.com
                 */
                email_ne?: components["parameters"]["SessionFilterEmailNe"];
                /**
                 * @description E-mail address of the user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "ada@example.com"
                 *     ]
                 */
                email_in?: components["parameters"]["SessionFilterEmailIn"];
                /**
                 * @description E-mail address of the user: contains, ignoring case; at least 3 characters
                 * @example ada@example.com
                 */
                email_like?: components["parameters"]["SessionFilterEmailLike"];
                /**
                 * @description Carrier of the user: equals
                 * @example acme
                 */
                carrier_id?: components["parameters"]["SessionFilterCarrierId"];
                /**
                 * @description Carrier of the user: does not equal; matches null too
                 * @example acme
                 */
                carrier_id_ne?: components["parameters"]["SessionFilterCarrierIdNe"];
                /**
                 * @description Carrier of the user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "acme"
                 *     ]
                 */
                carrier_id_in?: components["parameters"]["SessionFilterCarrierIdIn"];
                /**
                 * @description Carrier of the user: has no value
                 * @example true
                 */
                carrier_id_isnull?: components["parameters"]["SessionFilterCarrierIdIsnull"];
                /**
                 * @description Carrier of the user: contains, ignoring case; at least 3 characters
                 * @example acme
                 */
                carrier_id_like?: components["parameters"]["SessionFilterCarrierIdLike"];
                /**
                 * @description Address of the login (address or CIDR): equals
                 * @example 203.0.113.7
                 */
                ip?: components["parameters"]["SessionFilterIp"];
                /**
                 * @description Address of the login (address or CIDR): does not equal; matches null too
                 * @example 203.0.113.7
                 */
                ip_ne?: components["parameters"]["SessionFilterIpNe"];
                /**
                 * @description Address of the login (address or CIDR): is one of up to 500 different values, separated by commas
                 * @example [
                 *       "203.0.113.7"
                 *     ]
                 */
                ip_in?: components["parameters"]["SessionFilterIpIn"];
                /**
                 * @description Address of the login (address or CIDR): has no value
                 * @example true
                 */
                ip_isnull?: components["parameters"]["SessionFilterIpIsnull"];
                /**
                 * @description User agent of the login: equals
                 * @example Mozilla/5.0 (X11; Linux x86_64) Firefox/131.0
                 */
                user_agent?: components["parameters"]["SessionFilterUserAgent"];
                /**
                 * @description User agent of the login: does not equal; matches null too
                 * @example Mozilla/5.0 (X11; Linux x86_64) Firefox/131.0
                 */
                user_agent_ne?: components["parameters"]["SessionFilterUserAgentNe"];
                /**
                 * @description User agent of the login: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Mozilla/5.0 (X11; Linux x86_64) Firefox/131.0"
                 *     ]
                 */
                user_agent_in?: components["parameters"]["SessionFilterUserAgentIn"];
                /**
                 * @description User agent of the login: has no value
                 * @example true
                 */
                user_agent_isnull?: components["parameters"]["SessionFilterUserAgentIsnull"];
                /**
                 * @description User agent of the login: contains, ignoring case; at least 3 characters
                 * @example Mozilla/5.0 (X11; Linux x86_64) Firefox/131.0
                 */
                user_agent_like?: components["parameters"]["SessionFilterUserAgentLike"];
                /**
                 * @description Whether the session is live: equals
                 * @example true
                 */
                active?: components["parameters"]["SessionFilterActive"];
                /**
                 * @description Whether the session is live: does not equal; matches null too
                 * @example true
                 */
                active_ne?: components["parameters"]["SessionFilterActiveNe"];
                /**
                 * @description Whether the session is live: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                active_in?: components["parameters"]["SessionFilterActiveIn"];
                /**
                 * @description Whether the user authenticated with two factors: equals
                 * @example true
                 */
                mfa?: components["parameters"]["SessionFilterMfa"];
                /**
                 * @description Whether the user authenticated with two factors: does not equal; matches null too
                 * @example true
                 */
                mfa_ne?: components["parameters"]["SessionFilterMfaNe"];
                /**
                 * @description Whether the user authenticated with two factors: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                mfa_in?: components["parameters"]["SessionFilterMfaIn"];
                /**
                 * @description Why the session ended: equals
                 * @example revoked
                 */
                ended_reason?: components["parameters"]["SessionFilterEndedReason"];
                /**
                 * @description Why the session ended: does not equal; matches null too
                 * @example revoked
                 */
                ended_reason_ne?: components["parameters"]["SessionFilterEndedReasonNe"];
                /**
                 * @description Why the session ended: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "revoked"
                 *     ]
                 */
                ended_reason_in?: components["parameters"]["SessionFilterEndedReasonIn"];
                /**
                 * @description Why the session ended: has no value
                 * @example true
                 */
                ended_reason_isnull?: components["parameters"]["SessionFilterEndedReasonIsnull"];
                /**
                 * @description Time of the login: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at?: components["parameters"]["SessionFilterCreatedAt"];
                /**
                 * @description Time of the login: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_ne?: components["parameters"]["SessionFilterCreatedAtNe"];
                /**
                 * @description Time of the login: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                created_at_in?: components["parameters"]["SessionFilterCreatedAtIn"];
                /**
                 * @description Time of the login: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gt?: components["parameters"]["SessionFilterCreatedAtGt"];
                /**
                 * @description Time of the login: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gte?: components["parameters"]["SessionFilterCreatedAtGte"];
                /**
                 * @description Time of the login: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lt?: components["parameters"]["SessionFilterCreatedAtLt"];
                /**
                 * @description Time of the login: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lte?: components["parameters"]["SessionFilterCreatedAtLte"];
                /**
                 * @description Last activity, to the minute: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at?: components["parameters"]["SessionFilterLastSeenAt"];
                /**
                 * @description Last activity, to the minute: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_ne?: components["parameters"]["SessionFilterLastSeenAtNe"];
                /**
                 * @description Last activity, to the minute: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                last_seen_at_in?: components["parameters"]["SessionFilterLastSeenAtIn"];
                /**
                 * @description Last activity, to the minute: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_gt?: components["parameters"]["SessionFilterLastSeenAtGt"];
                /**
                 * @description Last activity, to the minute: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_gte?: components["parameters"]["SessionFilterLastSeenAtGte"];
                /**
                 * @description Last activity, to the minute: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_lt?: components["parameters"]["SessionFilterLastSeenAtLt"];
                /**
                 * @description Last activity, to the minute: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_lte?: components["parameters"]["SessionFilterLastSeenAtLte"];
                /**
                 * @description When the session expires without activity: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at?: components["parameters"]["SessionFilterExpiresAt"];
                /**
                 * @description When the session expires without activity: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_ne?: components["parameters"]["SessionFilterExpiresAtNe"];
                /**
                 * @description When the session expires without activity: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                expires_at_in?: components["parameters"]["SessionFilterExpiresAtIn"];
                /**
                 * @description When the session expires without activity: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_gt?: components["parameters"]["SessionFilterExpiresAtGt"];
                /**
                 * @description When the session expires without activity: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_gte?: components["parameters"]["SessionFilterExpiresAtGte"];
                /**
                 * @description When the session expires without activity: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_lt?: components["parameters"]["SessionFilterExpiresAtLt"];
                /**
                 * @description When the session expires without activity: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_lte?: components["parameters"]["SessionFilterExpiresAtLte"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Number of ended sessions */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndedSessionsResponse"];
                };
            };
        };
    };
    endSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the session, a UUID. Other text returns 404.
                 * @example 0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c
                 */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session has ended */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    createApiKey: {
        parameters: {
            query?: {
                /**
                 * @description `true`: accepts the name of a module that differs in one letter from a module of this service
                 * @example false
                 */
                new_prefix?: components["parameters"]["NewPrefix"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "billing",
                 *       "permissions": [
                 *         "user:read"
                 *       ],
                 *       "expires_at": "2027-06-30T00:00:00Z"
                 *     }
                 */
                "application/json": components["schemas"]["CreateKeyRequest"];
            };
        };
        responses: {
            /** @description The key; no other response contains it */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedKeyResponse"];
                };
            };
        };
    };
    listApiKeys: {
        parameters: {
            query?: {
                /**
                 * @description Sort field; nulls last, the id breaks ties
                 * @example created_at
                 */
                order_by?: components["schemas"]["ApiKeySort"];
                /**
                 * @description Direction of the sort
                 * @example desc
                 */
                order_dir?: components["parameters"]["OrderDir"];
                /**
                 * @description Rows per page
                 * @example 50
                 */
                per_page?: components["parameters"]["PerPage"];
                /**
                 * @description Number of the page, from 1. `page` × `per_page` is at most 100,000. Cannot be combined with `cursor`
                 * @example 1
                 */
                page?: components["parameters"]["Page"];
                /**
                 * @description `next_cursor` of the previous page; valid for the same caller, filter and sort
                 * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
                 */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description `estimated` counts up to 10,000 rows and estimates larger totals; `exact` counts all rows; `none` leaves `total` null
                 * @example estimated
                 */
                count?: components["parameters"]["Count"];
                /**
                 * @description Id of the key: equals
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                key_id?: string;
                /**
                 * @description Id of the key: does not equal; matches null too
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                key_id_ne?: string;
                /**
                 * @description Id of the key: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2"
                 *     ]
                 */
                key_id_in?: string[];
                /**
                 * @description Name: equals
                 * @example ada
                 */
                name?: string;
                /**
                 * @description Name: does not equal; matches null too
                 * @example ada
                 */
                name_ne?: string;
                /**
                 * @description Name: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "ada"
                 *     ]
                 */
                name_in?: string[];
                /**
                 * @description Name: contains, ignoring case; at least 3 characters
                 * @example ada
                 */
                name_like?: string;
                /**
                 * @description Permission that the key lists by name: equals
                 * @example user:read
                 */
                permission?: string;
                /**
                 * @description Permission that the key lists by name: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "user:read"
                 *     ]
                 */
                permission_in?: string[];
                /**
                 * @description User type of the creator: equals
                 * @example carrier
                 */
                user_type?: components["schemas"]["UserType"];
                /**
                 * @description User type of the creator: does not equal; matches null too
                 * @example carrier
                 */
                user_type_ne?: components["schemas"]["UserType"];
                /**
                 * @description User type of the creator: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "carrier"
                 *     ]
                 */
                user_type_in?: components["schemas"]["UserType"][];
                /**
                 * @description Carrier that the key belongs to: equals
                 * @example acme
                 */
                carrier_id?: string;
                /**
                 * @description Carrier that the key belongs to: does not equal; matches null too
                 * @example acme
                 */
                carrier_id_ne?: string;
                /**
                 * @description Carrier that the key belongs to: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "acme"
                 *     ]
                 */
                carrier_id_in?: string[];
                /**
                 * @description Carrier that the key belongs to: has no value
                 * @example true
                 */
                carrier_id_isnull?: boolean;
                /**
                 * @description Carrier that the key belongs to: contains, ignoring case; at least 3 characters
                 * @example acme
                 */
                carrier_id_like?: string;
                /**
                 * @description Whether the key is active: neither expired, suspended nor revoked: equals
                 * @example true
                 */
                active?: boolean;
                /**
                 * @description Whether the key is active: neither expired, suspended nor revoked: does not equal; matches null too
                 * @example true
                 */
                active_ne?: boolean;
                /**
                 * @description Whether the key is active: neither expired, suspended nor revoked: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                active_in?: boolean[];
                /**
                 * @description Time of creation: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at?: string;
                /**
                 * @description Time of creation: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_ne?: string;
                /**
                 * @description Time of creation: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                created_at_in?: string[];
                /**
                 * @description Time of creation: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gt?: string;
                /**
                 * @description Time of creation: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gte?: string;
                /**
                 * @description Time of creation: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lt?: string;
                /**
                 * @description Time of creation: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lte?: string;
                /**
                 * @description User who created the key: equals
                 * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
                 */
                created_by?: string;
                /**
                 * @description User who created the key: does not equal; matches null too
                 * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
                 */
                created_by_ne?: string;
                /**
                 * @description User who created the key: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70"
                 *     ]
                 */
                created_by_in?: string[];
                /**
                 * @description Time of expiry: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at?: string;
                /**
                 * @description Time of expiry: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_ne?: string;
                /**
                 * @description Time of expiry: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                expires_at_in?: string[];
                /**
                 * @description Time of expiry: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_gt?: string;
                /**
                 * @description Time of expiry: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_gte?: string;
                /**
                 * @description Time of expiry: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_lt?: string;
                /**
                 * @description Time of expiry: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_lte?: string;
                /**
                 * @description Time of the last use, to the minute: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_used_at?: string;
                /**
                 * @description Time of the last use, to the minute: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_used_at_ne?: string;
                /**
                 * @description Time of the last use, to the minute: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                last_used_at_in?: string[];
                /**
                 * @description Time of the last use, to the minute: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_used_at_gt?: string;
                /**
                 * @description Time of the last use, to the minute: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_used_at_gte?: string;
                /**
                 * @description Time of the last use, to the minute: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_used_at_lt?: string;
                /**
                 * @description Time of the last use, to the minute: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_used_at_lte?: string;
                /**
                 * @description Time of the last use, to the minute: has no value
                 * @example true
                 */
                last_used_at_isnull?: boolean;
                /**
                 * @description IP address of the last use (address or CIDR): equals
                 * @example 203.0.113.7
                 */
                last_used_ip?: string;
                /**
                 * @description IP address of the last use (address or CIDR): does not equal; matches null too
                 * @example 203.0.113.7
                 */
                last_used_ip_ne?: string;
                /**
                 * @description IP address of the last use (address or CIDR): is one of up to 500 different values, separated by commas
                 * @example [
                 *       "203.0.113.7"
                 *     ]
                 */
                last_used_ip_in?: string[];
                /**
                 * @description IP address of the last use (address or CIDR): has no value
                 * @example true
                 */
                last_used_ip_isnull?: boolean;
                /**
                 * @description Time of revocation: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                revoked_at?: string;
                /**
                 * @description Time of revocation: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                revoked_at_ne?: string;
                /**
                 * @description Time of revocation: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                revoked_at_in?: string[];
                /**
                 * @description Time of revocation: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                revoked_at_gt?: string;
                /**
                 * @description Time of revocation: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                revoked_at_gte?: string;
                /**
                 * @description Time of revocation: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                revoked_at_lt?: string;
                /**
                 * @description Time of revocation: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                revoked_at_lte?: string;
                /**
                 * @description Time of revocation: has no value
                 * @example true
                 */
                revoked_at_isnull?: boolean;
                /**
                 * @description User or key that revoked the key: equals
                 * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
                 */
                revoked_by?: string;
                /**
                 * @description User or key that revoked the key: does not equal; matches null too
                 * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
                 */
                revoked_by_ne?: string;
                /**
                 * @description User or key that revoked the key: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70"
                 *     ]
                 */
                revoked_by_in?: string[];
                /**
                 * @description User or key that revoked the key: has no value
                 * @example true
                 */
                revoked_by_isnull?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of keys */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyListResponse"];
                };
            };
        };
    };
    rotateApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the API key, a UUID. Other text returns 404.
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                key_id: components["parameters"]["KeyIdPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "keep_old_seconds": 86400
                 *     }
                 */
                "application/json": components["schemas"]["RotateKeyRequest"];
            };
        };
        responses: {
            /** @description The key with its new secret */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedKeyResponse"];
                };
            };
        };
    };
    resumeApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the API key, a UUID. Other text returns 404.
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                key_id: components["parameters"]["KeyIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key is not suspended */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    revokeApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the API key, a UUID. Other text returns 404.
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                key_id: components["parameters"]["KeyIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key is revoked */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    createAddressBlock: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "network": "203.0.113.0/24",
                 *       "expires_at": "2026-11-21T13:00:00Z"
                 *     }
                 */
                "application/json": components["schemas"]["CreateAddressBlockRequest"];
            };
        };
        responses: {
            /** @description The block */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddressBlockResponse"];
                };
            };
        };
    };
    listAddressBlocks: {
        parameters: {
            query?: {
                /**
                 * @description Sort field; nulls last, the id breaks ties
                 * @example created_at
                 */
                order_by?: components["schemas"]["AddressBlockSort"];
                /**
                 * @description Direction of the sort
                 * @example desc
                 */
                order_dir?: components["parameters"]["OrderDir"];
                /**
                 * @description Rows per page
                 * @example 50
                 */
                per_page?: components["parameters"]["PerPage"];
                /**
                 * @description Number of the page, from 1. `page` × `per_page` is at most 100,000. Cannot be combined with `cursor`
                 * @example 1
                 */
                page?: components["parameters"]["Page"];
                /**
                 * @description `next_cursor` of the previous page; valid for the same caller, filter and sort
                 * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
                 */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description `estimated` counts up to 10,000 rows and estimates larger totals; `exact` counts all rows; `none` leaves `total` null
                 * @example estimated
                 */
                count?: components["parameters"]["Count"];
                /**
                 * @description Id of the block: equals
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                address_block_id?: string;
                /**
                 * @description Id of the block: does not equal; matches null too
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                address_block_id_ne?: string;
                /**
                 * @description Id of the block: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2"
                 *     ]
                 */
                address_block_id_in?: string[];
                /**
                 * @description Blocked network (the blocks within an address or CIDR): equals
                 * @example 203.0.113.0/24
                 */
                network?: string;
                /**
                 * @description Blocked network (the blocks within an address or CIDR): does not equal; matches null too
                 * @example 203.0.113.0/24
                 */
                network_ne?: string;
                /**
                 * @description Blocked network (the blocks within an address or CIDR): is one of up to 500 different values, separated by commas
                 * @example [
                 *       "203.0.113.0/24"
                 *     ]
                 */
                network_in?: string[];
                /**
                 * @description Time of creation: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at?: string;
                /**
                 * @description Time of creation: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_ne?: string;
                /**
                 * @description Time of creation: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                created_at_in?: string[];
                /**
                 * @description Time of creation: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gt?: string;
                /**
                 * @description Time of creation: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gte?: string;
                /**
                 * @description Time of creation: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lt?: string;
                /**
                 * @description Time of creation: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lte?: string;
                /**
                 * @description User or API key that created the block: equals
                 * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
                 */
                created_by?: string;
                /**
                 * @description User or API key that created the block: does not equal; matches null too
                 * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
                 */
                created_by_ne?: string;
                /**
                 * @description User or API key that created the block: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70"
                 *     ]
                 */
                created_by_in?: string[];
                /**
                 * @description End of the block: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at?: string;
                /**
                 * @description End of the block: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_ne?: string;
                /**
                 * @description End of the block: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                expires_at_in?: string[];
                /**
                 * @description End of the block: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_gt?: string;
                /**
                 * @description End of the block: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_gte?: string;
                /**
                 * @description End of the block: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_lt?: string;
                /**
                 * @description End of the block: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                expires_at_lte?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of blocks */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddressBlockListResponse"];
                };
            };
        };
    };
    deleteAddressBlock: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the address block, a UUID. Other text returns 404.
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                address_block_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The block is removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listOperations: {
        parameters: {
            query?: {
                /**
                 * @description Sort field; nulls last, the id breaks ties
                 * @example created_at
                 */
                order_by?: components["parameters"]["OrderBy"];
                /**
                 * @description Direction of the sort
                 * @example desc
                 */
                order_dir?: components["parameters"]["OrderDir"];
                /**
                 * @description Rows per page
                 * @example 50
                 */
                per_page?: components["parameters"]["PerPage"];
                /**
                 * @description Number of the page, from 1. `page` × `per_page` is at most 100,000. Cannot be combined with `cursor`
                 * @example 1
                 */
                page?: components["parameters"]["Page"];
                /**
                 * @description `next_cursor` of the previous page; valid for the same caller, filter and sort
                 * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
                 */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description `estimated` counts up to 10,000 rows and estimates larger totals; `exact` counts all rows; `none` leaves `total` null
                 * @example estimated
                 */
                count?: components["parameters"]["Count"];
                /**
                 * @description Id of the operation: equals
                 * @example 0192f0c3-9e21-7a54-b1d7-4c5b6a798897
                 */
                operation_id?: string;
                /**
                 * @description Id of the operation: does not equal; matches null too
                 * @example 0192f0c3-9e21-7a54-b1d7-4c5b6a798897
                 */
                operation_id_ne?: string;
                /**
                 * @description Id of the operation: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c3-9e21-7a54-b1d7-4c5b6a798897"
                 *     ]
                 */
                operation_id_in?: string[];
                /**
                 * @description Kind of the operation: equals
                 * @example change
                 */
                kind?: components["schemas"]["OperationKind"];
                /**
                 * @description Kind of the operation: does not equal; matches null too
                 * @example change
                 */
                kind_ne?: components["schemas"]["OperationKind"];
                /**
                 * @description Kind of the operation: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "change"
                 *     ]
                 */
                kind_in?: components["schemas"]["OperationKind"][];
                /**
                 * @description State of the operation: equals
                 * @example receiving
                 */
                status?: components["schemas"]["OperationStatus"];
                /**
                 * @description State of the operation: does not equal; matches null too
                 * @example receiving
                 */
                status_ne?: components["schemas"]["OperationStatus"];
                /**
                 * @description State of the operation: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "receiving"
                 *     ]
                 */
                status_in?: components["schemas"]["OperationStatus"][];
                /**
                 * @description Kind of actor: equals
                 * @example user
                 */
                actor_type?: components["schemas"]["OperationActorType"];
                /**
                 * @description Kind of actor: does not equal; matches null too
                 * @example user
                 */
                actor_type_ne?: components["schemas"]["OperationActorType"];
                /**
                 * @description Kind of actor: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "user"
                 *     ]
                 */
                actor_type_in?: components["schemas"]["OperationActorType"][];
                /**
                 * @description Id of the user or API key that requested the operation: equals
                 * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
                 */
                actor_id?: string;
                /**
                 * @description Id of the user or API key that requested the operation: does not equal; matches null too
                 * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
                 */
                actor_id_ne?: string;
                /**
                 * @description Id of the user or API key that requested the operation: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70"
                 *     ]
                 */
                actor_id_in?: string[];
                /**
                 * @description Id of the operation that this operation undoes: equals
                 * @example 0192f0b9-6d3a-7f28-95e1-6b7c8d9eafb0
                 */
                undo_of?: string;
                /**
                 * @description Id of the operation that this operation undoes: does not equal; matches null too
                 * @example 0192f0b9-6d3a-7f28-95e1-6b7c8d9eafb0
                 */
                undo_of_ne?: string;
                /**
                 * @description Id of the operation that this operation undoes: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0b9-6d3a-7f28-95e1-6b7c8d9eafb0"
                 *     ]
                 */
                undo_of_in?: string[];
                /**
                 * @description Id of the operation that this operation undoes: has no value
                 * @example true
                 */
                undo_of_isnull?: boolean;
                /**
                 * @description When the operation was requested: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at?: string;
                /**
                 * @description When the operation was requested: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_ne?: string;
                /**
                 * @description When the operation was requested: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                created_at_in?: string[];
                /**
                 * @description When the operation was requested: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gt?: string;
                /**
                 * @description When the operation was requested: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gte?: string;
                /**
                 * @description When the operation was requested: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lt?: string;
                /**
                 * @description When the operation was requested: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lte?: string;
                /**
                 * @description When the operation ended: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                finished_at?: string;
                /**
                 * @description When the operation ended: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                finished_at_ne?: string;
                /**
                 * @description When the operation ended: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                finished_at_in?: string[];
                /**
                 * @description When the operation ended: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                finished_at_gt?: string;
                /**
                 * @description When the operation ended: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                finished_at_gte?: string;
                /**
                 * @description When the operation ended: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                finished_at_lt?: string;
                /**
                 * @description When the operation ended: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                finished_at_lte?: string;
                /**
                 * @description When the operation ended: has no value
                 * @example true
                 */
                finished_at_isnull?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of operations */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationListResponse"];
                };
            };
        };
    };
    getOperation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the operation, a UUID. Other text returns 404.
                 * @example 0192f0c3-9e21-7a54-b1d7-4c5b6a798897
                 */
                operation_id: components["parameters"]["OperationIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The operation */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationResponse"];
                };
            };
        };
    };
    cancelOperation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the operation, a UUID. Other text returns 404.
                 * @example 0192f0c3-9e21-7a54-b1d7-4c5b6a798897
                 */
                operation_id: components["parameters"]["OperationIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The operation */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationResponse"];
                };
            };
        };
    };
    deleteUsers: {
        parameters: {
            query?: {
                /**
                 * @description `true`: all users that the caller may see. Not allowed together with a filter
                 * @example false
                 */
                everyone?: components["parameters"]["Everyone"];
                /**
                 * @description `true`: changes nothing, and returns what would change and a `confirm_token`
                 * @example true
                 */
                dry_run?: components["parameters"]["DryRun"];
                /**
                 * @description Token from the preview of the same request. The request applies to exactly the previewed users. If other users match now, the request fails with `bulk.set_changed`. Valid for 10 minutes, and only once
                 * @example eyJjIjoiMDE5MmYwYzMifQ.kV7d2RZs
                 */
                confirm_token?: components["parameters"]["ConfirmToken"];
                /**
                 * @description Number of users that you expect to match. Any other number fails with `bulk.expected_mismatch`
                 * @example 120
                 */
                expected?: components["parameters"]["Expected"];
                /**
                 * @description Id: equals
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id?: components["parameters"]["UserFilterUserId"];
                /**
                 * @description Id: does not equal; matches null too
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id_ne?: components["parameters"]["UserFilterUserIdNe"];
                /**
                 * @description Id: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e"
                 *     ]
                 */
                user_id_in?: components["parameters"]["UserFilterUserIdIn"];
                /**
                 * @description Kind of user: equals
                 * @example carrier
                 */
                user_type?: components["parameters"]["UserFilterUserType"];
                /**
                 * @description Kind of user: does not equal; matches null too
                 * @example carrier
                 */
                user_type_ne?: components["parameters"]["UserFilterUserTypeNe"];
                /**
                 * @description Kind of user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "carrier"
                 *     ]
                 */
                user_type_in?: components["parameters"]["UserFilterUserTypeIn"];
                /**
                 * @description State: equals
                 * @example active
                 */
                status?: components["parameters"]["UserFilterStatus"];
                /**
                 * @description State: does not equal; matches null too
                 * @example active
                 */
                status_ne?: components["parameters"]["UserFilterStatusNe"];
                /**
                 * @description State: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "active"
                 *     ]
                 */
                status_in?: components["parameters"]["UserFilterStatusIn"];
                /**
                 * @description Login name, without regard to case: equals
                 * @example ada
                 */
                name?: components["parameters"]["UserFilterName"];
                /**
                 * @description Login name, without regard to case: does not equal; matches null too
                 * @example ada
                 */
                name_ne?: components["parameters"]["UserFilterNameNe"];
                /**
                 * @description Login name, without regard to case: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "ada"
                 *     ]
                 */
                name_in?: components["parameters"]["UserFilterNameIn"];
                /**
                 * @description Login name, without regard to case: contains, ignoring case; at least 3 characters
                 * @example ada
                 */
                name_like?: components["parameters"]["UserFilterNameLike"];
                /**
                 * @description E-mail address, without regard to case: equals
                 * @example ada@example.com
                 */
                email?: components["parameters"]["UserFilterEmail"];
                /**
                 * @description E-mail address, without regard to case: does not equal; matches null too
                 * @example ada@example.com
                 */
                email_ne?: components["parameters"]["UserFilterEmailNe"];
                /**
                 * @description E-mail address, without regard to case: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "ada@example.com"
                 *     ]
                 */
                email_in?: components["parameters"]["UserFilterEmailIn"];
                /**
                 * @description E-mail address, without regard to case: contains, ignoring case; at least 3 characters
                 * @example ada@example.com
                 */
                email_like?: components["parameters"]["UserFilterEmailLike"];
                /**
                 * @description First name: equals
                 * @example Ada
                 */
                first_name?: components["parameters"]["UserFilterFirstName"];
                /**
                 * @description First name: does not equal; matches null too
                 * @example Ada
                 */
                first_name_ne?: components["parameters"]["UserFilterFirstNameNe"];
                /**
                 * @description First name: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Ada"
                 *     ]
                 */
                first_name_in?: components["parameters"]["UserFilterFirstNameIn"];
                /**
                 * @description First name: contains, ignoring case; at least 3 characters
                 * @example Ada
                 */
                first_name_like?: components["parameters"]["UserFilterFirstNameLike"];
                /**
                 * @description Last name: equals
                 * @example Lovelace
                 */
                last_name?: components["parameters"]["UserFilterLastName"];
                /**
                 * @description Last name: does not equal; matches null too
                 * @example Lovelace
                 */
                last_name_ne?: components["parameters"]["UserFilterLastNameNe"];
                /**
                 * @description Last name: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Lovelace"
                 *     ]
                 */
                last_name_in?: components["parameters"]["UserFilterLastNameIn"];
                /**
                 * @description Last name: contains, ignoring case; at least 3 characters
                 * @example Lovelace
                 */
                last_name_like?: components["parameters"]["UserFilterLastNameLike"];
                /**
                 * @description Phone number: equals
                 * @example +4312345678
                 */
                phone?: components["parameters"]["UserFilterPhone"];
                /**
                 * @description Phone number: does not equal; matches null too
                 * @example +4312345678
                 */
                phone_ne?: components["parameters"]["UserFilterPhoneNe"];
                /**
                 * @description Phone number: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "+4312345678"
                 *     ]
                 */
                phone_in?: components["parameters"]["UserFilterPhoneIn"];
                /**
                 * @description Phone number: has no value
                 * @example true
                 */
                phone_isnull?: components["parameters"]["UserFilterPhoneIsnull"];
                /**
                 * @description Phone number: contains, ignoring case; at least 3 characters
                 * @example +4312345678
                 */
                phone_like?: components["parameters"]["UserFilterPhoneLike"];
                /**
                 * @description Job title: equals
                 * @example Head of Operations
                 */
                job_title?: components["parameters"]["UserFilterJobTitle"];
                /**
                 * @description Job title: does not equal; matches null too
                 * @example Head of Operations
                 */
                job_title_ne?: components["parameters"]["UserFilterJobTitleNe"];
                /**
                 * @description Job title: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Head of Operations"
                 *     ]
                 */
                job_title_in?: components["parameters"]["UserFilterJobTitleIn"];
                /**
                 * @description Job title: has no value
                 * @example true
                 */
                job_title_isnull?: components["parameters"]["UserFilterJobTitleIsnull"];
                /**
                 * @description Job title: contains, ignoring case; at least 3 characters
                 * @example Head of Operations
                 */
                job_title_like?: components["parameters"]["UserFilterJobTitleLike"];
                /**
                 * @description Department: equals
                 * @example Dispatch
                 */
                department?: components["parameters"]["UserFilterDepartment"];
                /**
                 * @description Department: does not equal; matches null too
                 * @example Dispatch
                 */
                department_ne?: components["parameters"]["UserFilterDepartmentNe"];
                /**
                 * @description Department: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Dispatch"
                 *     ]
                 */
                department_in?: components["parameters"]["UserFilterDepartmentIn"];
                /**
                 * @description Department: has no value
                 * @example true
                 */
                department_isnull?: components["parameters"]["UserFilterDepartmentIsnull"];
                /**
                 * @description Department: contains, ignoring case; at least 3 characters
                 * @example Dispatch
                 */
                department_like?: components["parameters"]["UserFilterDepartmentLike"];
                /**
                 * @description Language: equals
                 * @example en-GB
                 */
                locale?: components["parameters"]["UserFilterLocale"];
                /**
                 * @description Language: does not equal; matches null too
                 * @example en-GB
                 */
                locale_ne?: components["parameters"]["UserFilterLocaleNe"];
                /**
                 * @description Language: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "en-GB"
                 *     ]
                 */
                locale_in?: components["parameters"]["UserFilterLocaleIn"];
                /**
                 * @description Language: has no value
                 * @example true
                 */
                locale_isnull?: components["parameters"]["UserFilterLocaleIsnull"];
                /**
                 * @description Language: contains, ignoring case; at least 3 characters
                 * @example en-GB
                 */
                locale_like?: components["parameters"]["UserFilterLocaleLike"];
                /**
                 * @description Time zone: equals
                 * @example Europe/Vienna
                 */
                timezone?: components["parameters"]["UserFilterTimezone"];
                /**
                 * @description Time zone: does not equal; matches null too
                 * @example Europe/Vienna
                 */
                timezone_ne?: components["parameters"]["UserFilterTimezoneNe"];
                /**
                 * @description Time zone: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Europe/Vienna"
                 *     ]
                 */
                timezone_in?: components["parameters"]["UserFilterTimezoneIn"];
                /**
                 * @description Time zone: has no value
                 * @example true
                 */
                timezone_isnull?: components["parameters"]["UserFilterTimezoneIsnull"];
                /**
                 * @description Time zone: contains, ignoring case; at least 3 characters
                 * @example Europe/Vienna
                 */
                timezone_like?: components["parameters"]["UserFilterTimezoneLike"];
                /**
                 * @description Carrier: equals
                 * @example acme
                 */
                carrier_id?: components["parameters"]["UserFilterCarrierId"];
                /**
                 * @description Carrier: does not equal; matches null too
                 * @example acme
                 */
                carrier_id_ne?: components["parameters"]["UserFilterCarrierIdNe"];
                /**
                 * @description Carrier: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "acme"
                 *     ]
                 */
                carrier_id_in?: components["parameters"]["UserFilterCarrierIdIn"];
                /**
                 * @description Carrier: has no value
                 * @example true
                 */
                carrier_id_isnull?: components["parameters"]["UserFilterCarrierIdIsnull"];
                /**
                 * @description Carrier: contains, ignoring case; at least 3 characters
                 * @example acme
                 */
                carrier_id_like?: components["parameters"]["UserFilterCarrierIdLike"];
                /**
                 * @description A role that the user has: equals
                 * @example carrier_user
                 */
                role?: components["parameters"]["UserFilterRole"];
                /**
                 * @description A role that the user has: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "carrier_user"
                 *     ]
                 */
                role_in?: components["parameters"]["UserFilterRoleIn"];
                /**
                 * @description Seen within 5 minutes in a session that has not ended: equals
                 * @example true
                 */
                online?: components["parameters"]["UserFilterOnline"];
                /**
                 * @description Seen within 5 minutes in a session that has not ended: does not equal; matches null too
                 * @example true
                 */
                online_ne?: components["parameters"]["UserFilterOnlineNe"];
                /**
                 * @description Seen within 5 minutes in a session that has not ended: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                online_in?: components["parameters"]["UserFilterOnlineIn"];
                /**
                 * @description Address of the last login (address or CIDR): equals
                 * @example 203.0.113.7
                 */
                last_login_ip?: components["parameters"]["UserFilterLastLoginIp"];
                /**
                 * @description Address of the last login (address or CIDR): does not equal; matches null too
                 * @example 203.0.113.7
                 */
                last_login_ip_ne?: components["parameters"]["UserFilterLastLoginIpNe"];
                /**
                 * @description Address of the last login (address or CIDR): is one of up to 500 different values, separated by commas
                 * @example [
                 *       "203.0.113.7"
                 *     ]
                 */
                last_login_ip_in?: components["parameters"]["UserFilterLastLoginIpIn"];
                /**
                 * @description Address of the last login (address or CIDR): has no value
                 * @example true
                 */
                last_login_ip_isnull?: components["parameters"]["UserFilterLastLoginIpIsnull"];
                /**
                 * @description Must change the password before any other request: equals
                 * @example false
                 */
                must_change_password?: components["parameters"]["UserFilterMustChangePassword"];
                /**
                 * @description Must change the password before any other request: does not equal; matches null too
                 * @example false
                 */
                must_change_password_ne?: components["parameters"]["UserFilterMustChangePasswordNe"];
                /**
                 * @description Must change the password before any other request: is one of up to 500 different values, separated by commas
                 * @example [
                 *       false
                 *     ]
                 */
                must_change_password_in?: components["parameters"]["UserFilterMustChangePasswordIn"];
                /**
                 * @description Has a confirmed second factor: equals
                 * @example true
                 */
                has_second_factor?: components["parameters"]["UserFilterHasSecondFactor"];
                /**
                 * @description Has a confirmed second factor: does not equal; matches null too
                 * @example true
                 */
                has_second_factor_ne?: components["parameters"]["UserFilterHasSecondFactorNe"];
                /**
                 * @description Has a confirmed second factor: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                has_second_factor_in?: components["parameters"]["UserFilterHasSecondFactorIn"];
                /**
                 * @description Has no second factor although one is required now: equals
                 * @example true
                 */
                must_enroll_second_factor?: components["parameters"]["UserFilterMustEnrollSecondFactor"];
                /**
                 * @description Has no second factor although one is required now: does not equal; matches null too
                 * @example true
                 */
                must_enroll_second_factor_ne?: components["parameters"]["UserFilterMustEnrollSecondFactorNe"];
                /**
                 * @description Has no second factor although one is required now: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                must_enroll_second_factor_in?: components["parameters"]["UserFilterMustEnrollSecondFactorIn"];
                /**
                 * @description When the user was created: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at?: components["parameters"]["UserFilterCreatedAt"];
                /**
                 * @description When the user was created: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_ne?: components["parameters"]["UserFilterCreatedAtNe"];
                /**
                 * @description When the user was created: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                created_at_in?: components["parameters"]["UserFilterCreatedAtIn"];
                /**
                 * @description When the user was created: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gt?: components["parameters"]["UserFilterCreatedAtGt"];
                /**
                 * @description When the user was created: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gte?: components["parameters"]["UserFilterCreatedAtGte"];
                /**
                 * @description When the user was created: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lt?: components["parameters"]["UserFilterCreatedAtLt"];
                /**
                 * @description When the user was created: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lte?: components["parameters"]["UserFilterCreatedAtLte"];
                /**
                 * @description When a field was last changed: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at?: components["parameters"]["UserFilterUpdatedAt"];
                /**
                 * @description When a field was last changed: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_ne?: components["parameters"]["UserFilterUpdatedAtNe"];
                /**
                 * @description When a field was last changed: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                updated_at_in?: components["parameters"]["UserFilterUpdatedAtIn"];
                /**
                 * @description When a field was last changed: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_gt?: components["parameters"]["UserFilterUpdatedAtGt"];
                /**
                 * @description When a field was last changed: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_gte?: components["parameters"]["UserFilterUpdatedAtGte"];
                /**
                 * @description When a field was last changed: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_lt?: components["parameters"]["UserFilterUpdatedAtLt"];
                /**
                 * @description When a field was last changed: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_lte?: components["parameters"]["UserFilterUpdatedAtLte"];
                /**
                 * @description Last login: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at?: components["parameters"]["UserFilterLastLoginAt"];
                /**
                 * @description Last login: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_ne?: components["parameters"]["UserFilterLastLoginAtNe"];
                /**
                 * @description Last login: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                last_login_at_in?: components["parameters"]["UserFilterLastLoginAtIn"];
                /**
                 * @description Last login: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_gt?: components["parameters"]["UserFilterLastLoginAtGt"];
                /**
                 * @description Last login: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_gte?: components["parameters"]["UserFilterLastLoginAtGte"];
                /**
                 * @description Last login: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_lt?: components["parameters"]["UserFilterLastLoginAtLt"];
                /**
                 * @description Last login: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_lte?: components["parameters"]["UserFilterLastLoginAtLte"];
                /**
                 * @description Last login: has no value
                 * @example true
                 */
                last_login_at_isnull?: components["parameters"]["UserFilterLastLoginAtIsnull"];
                /**
                 * @description Last activity: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at?: components["parameters"]["UserFilterLastSeenAt"];
                /**
                 * @description Last activity: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_ne?: components["parameters"]["UserFilterLastSeenAtNe"];
                /**
                 * @description Last activity: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                last_seen_at_in?: components["parameters"]["UserFilterLastSeenAtIn"];
                /**
                 * @description Last activity: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_gt?: components["parameters"]["UserFilterLastSeenAtGt"];
                /**
                 * @description Last activity: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_gte?: components["parameters"]["UserFilterLastSeenAtGte"];
                /**
                 * @description Last activity: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_lt?: components["parameters"]["UserFilterLastSeenAtLt"];
                /**
                 * @description Last activity: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_lte?: components["parameters"]["UserFilterLastSeenAtLte"];
                /**
                 * @description Last activity: has no value
                 * @example true
                 */
                last_seen_at_isnull?: components["parameters"]["UserFilterLastSeenAtIsnull"];
                /**
                 * @description When the password was last set: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at?: components["parameters"]["UserFilterPasswordChangedAt"];
                /**
                 * @description When the password was last set: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_ne?: components["parameters"]["UserFilterPasswordChangedAtNe"];
                /**
                 * @description When the password was last set: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                password_changed_at_in?: components["parameters"]["UserFilterPasswordChangedAtIn"];
                /**
                 * @description When the password was last set: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_gt?: components["parameters"]["UserFilterPasswordChangedAtGt"];
                /**
                 * @description When the password was last set: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_gte?: components["parameters"]["UserFilterPasswordChangedAtGte"];
                /**
                 * @description When the password was last set: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_lt?: components["parameters"]["UserFilterPasswordChangedAtLt"];
                /**
                 * @description When the password was last set: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_lte?: components["parameters"]["UserFilterPasswordChangedAtLte"];
                /**
                 * @description When the password was last set: has no value
                 * @example true
                 */
                password_changed_at_isnull?: components["parameters"]["UserFilterPasswordChangedAtIsnull"];
                /**
                 * @description End of the account lockout: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until?: components["parameters"]["UserFilterLockedUntil"];
                /**
                 * @description End of the account lockout: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_ne?: components["parameters"]["UserFilterLockedUntilNe"];
                /**
                 * @description End of the account lockout: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                locked_until_in?: components["parameters"]["UserFilterLockedUntilIn"];
                /**
                 * @description End of the account lockout: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_gt?: components["parameters"]["UserFilterLockedUntilGt"];
                /**
                 * @description End of the account lockout: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_gte?: components["parameters"]["UserFilterLockedUntilGte"];
                /**
                 * @description End of the account lockout: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_lt?: components["parameters"]["UserFilterLockedUntilLt"];
                /**
                 * @description End of the account lockout: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_lte?: components["parameters"]["UserFilterLockedUntilLte"];
                /**
                 * @description End of the account lockout: has no value
                 * @example true
                 */
                locked_until_isnull?: components["parameters"]["UserFilterLockedUntilIsnull"];
                /**
                 * @description Up to 5 words, each found in one of name, e-mail, first name, last name, job title, department; words of 1 or 2 characters match beginnings
                 * @example ada
                 */
                q?: components["parameters"]["UserFilterQ"];
            };
            header?: {
                /**
                 * @description A unique text of your choice, such as a UUID. A repeated request with the same key within 24 hours is not carried out again but gets the first response. A different query or body is rejected with 422. A repeated request while the first is still running is rejected with 409. Responses with 401, 429 or 5xx and dry runs are not stored. A user and the API keys that they created can send 50,000 requests with a key in 24 hours. A response of more than 2 KiB counts as several requests, one for each 2 KiB.
                 * @example 5f0c1a52-3b1e-4c37-9b8e-0d6f2a7c4e19
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result, or with `dry_run` the preview */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResponse"];
                };
            };
            /** @description More than 10,000 users match: the operation in the background */
            202: {
                headers: {
                    /** @description Path of the operation */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResponse"];
                };
            };
        };
    };
    changeUsers: {
        parameters: {
            query?: {
                /**
                 * @description `true`: all users that the caller may see. Not allowed together with a filter
                 * @example false
                 */
                everyone?: components["parameters"]["Everyone"];
                /**
                 * @description `true`: changes nothing, and returns what would change and a `confirm_token`
                 * @example true
                 */
                dry_run?: components["parameters"]["DryRun"];
                /**
                 * @description Token from the preview of the same request. The request applies to exactly the previewed users. If other users match now, the request fails with `bulk.set_changed`. Valid for 10 minutes, and only once
                 * @example eyJjIjoiMDE5MmYwYzMifQ.kV7d2RZs
                 */
                confirm_token?: components["parameters"]["ConfirmToken"];
                /**
                 * @description Number of users that you expect to match. Any other number fails with `bulk.expected_mismatch`
                 * @example 120
                 */
                expected?: components["parameters"]["Expected"];
                /**
                 * @description Id: equals
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id?: components["parameters"]["UserFilterUserId"];
                /**
                 * @description Id: does not equal; matches null too
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id_ne?: components["parameters"]["UserFilterUserIdNe"];
                /**
                 * @description Id: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e"
                 *     ]
                 */
                user_id_in?: components["parameters"]["UserFilterUserIdIn"];
                /**
                 * @description Kind of user: equals
                 * @example carrier
                 */
                user_type?: components["parameters"]["UserFilterUserType"];
                /**
                 * @description Kind of user: does not equal; matches null too
                 * @example carrier
                 */
                user_type_ne?: components["parameters"]["UserFilterUserTypeNe"];
                /**
                 * @description Kind of user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "carrier"
                 *     ]
                 */
                user_type_in?: components["parameters"]["UserFilterUserTypeIn"];
                /**
                 * @description State: equals
                 * @example active
                 */
                status?: components["parameters"]["UserFilterStatus"];
                /**
                 * @description State: does not equal; matches null too
                 * @example active
                 */
                status_ne?: components["parameters"]["UserFilterStatusNe"];
                /**
                 * @description State: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "active"
                 *     ]
                 */
                status_in?: components["parameters"]["UserFilterStatusIn"];
                /**
                 * @description Login name, without regard to case: equals
                 * @example ada
                 */
                name?: components["parameters"]["UserFilterName"];
                /**
                 * @description Login name, without regard to case: does not equal; matches null too
                 * @example ada
                 */
                name_ne?: components["parameters"]["UserFilterNameNe"];
                /**
                 * @description Login name, without regard to case: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "ada"
                 *     ]
                 */
                name_in?: components["parameters"]["UserFilterNameIn"];
                /**
                 * @description Login name, without regard to case: contains, ignoring case; at least 3 characters
                 * @example ada
                 */
                name_like?: components["parameters"]["UserFilterNameLike"];
                /**
                 * @description E-mail address, without regard to case: equals
                 * @example ada@example.com
                 */
                email?: components["parameters"]["UserFilterEmail"];
                /**
                 * @description E-mail address, without regard to case: does not equal; matches null too
                 * @example ada@example.com
                 */
                email_ne?: components["parameters"]["UserFilterEmailNe"];
                /**
                 * @description E-mail address, without regard to case: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "ada@example.com"
                 *     ]
                 */
                email_in?: components["parameters"]["UserFilterEmailIn"];
                /**
                 * @description E-mail address, without regard to case: contains, ignoring case; at least 3 characters
                 * @example ada@example.com
                 */
                email_like?: components["parameters"]["UserFilterEmailLike"];
                /**
                 * @description First name: equals
                 * @example Ada
                 */
                first_name?: components["parameters"]["UserFilterFirstName"];
                /**
                 * @description First name: does not equal; matches null too
                 * @example Ada
                 */
                first_name_ne?: components["parameters"]["UserFilterFirstNameNe"];
                /**
                 * @description First name: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Ada"
                 *     ]
                 */
                first_name_in?: components["parameters"]["UserFilterFirstNameIn"];
                /**
                 * @description First name: contains, ignoring case; at least 3 characters
                 * @example Ada
                 */
                first_name_like?: components["parameters"]["UserFilterFirstNameLike"];
                /**
                 * @description Last name: equals
                 * @example Lovelace
                 */
                last_name?: components["parameters"]["UserFilterLastName"];
                /**
                 * @description Last name: does not equal; matches null too
                 * @example Lovelace
                 */
                last_name_ne?: components["parameters"]["UserFilterLastNameNe"];
                /**
                 * @description Last name: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Lovelace"
                 *     ]
                 */
                last_name_in?: components["parameters"]["UserFilterLastNameIn"];
                /**
                 * @description Last name: contains, ignoring case; at least 3 characters
                 * @example Lovelace
                 */
                last_name_like?: components["parameters"]["UserFilterLastNameLike"];
                /**
                 * @description Phone number: equals
                 * @example +4312345678
                 */
                phone?: components["parameters"]["UserFilterPhone"];
                /**
                 * @description Phone number: does not equal; matches null too
                 * @example +4312345678
                 */
                phone_ne?: components["parameters"]["UserFilterPhoneNe"];
                /**
                 * @description Phone number: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "+4312345678"
                 *     ]
                 */
                phone_in?: components["parameters"]["UserFilterPhoneIn"];
                /**
                 * @description Phone number: has no value
                 * @example true
                 */
                phone_isnull?: components["parameters"]["UserFilterPhoneIsnull"];
                /**
                 * @description Phone number: contains, ignoring case; at least 3 characters
                 * @example +4312345678
                 */
                phone_like?: components["parameters"]["UserFilterPhoneLike"];
                /**
                 * @description Job title: equals
                 * @example Head of Operations
                 */
                job_title?: components["parameters"]["UserFilterJobTitle"];
                /**
                 * @description Job title: does not equal; matches null too
                 * @example Head of Operations
                 */
                job_title_ne?: components["parameters"]["UserFilterJobTitleNe"];
                /**
                 * @description Job title: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Head of Operations"
                 *     ]
                 */
                job_title_in?: components["parameters"]["UserFilterJobTitleIn"];
                /**
                 * @description Job title: has no value
                 * @example true
                 */
                job_title_isnull?: components["parameters"]["UserFilterJobTitleIsnull"];
                /**
                 * @description Job title: contains, ignoring case; at least 3 characters
                 * @example Head of Operations
                 */
                job_title_like?: components["parameters"]["UserFilterJobTitleLike"];
                /**
                 * @description Department: equals
                 * @example Dispatch
                 */
                department?: components["parameters"]["UserFilterDepartment"];
                /**
                 * @description Department: does not equal; matches null too
                 * @example Dispatch
                 */
                department_ne?: components["parameters"]["UserFilterDepartmentNe"];
                /**
                 * @description Department: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Dispatch"
                 *     ]
                 */
                department_in?: components["parameters"]["UserFilterDepartmentIn"];
                /**
                 * @description Department: has no value
                 * @example true
                 */
                department_isnull?: components["parameters"]["UserFilterDepartmentIsnull"];
                /**
                 * @description Department: contains, ignoring case; at least 3 characters
                 * @example Dispatch
                 */
                department_like?: components["parameters"]["UserFilterDepartmentLike"];
                /**
                 * @description Language: equals
                 * @example en-GB
                 */
                locale?: components["parameters"]["UserFilterLocale"];
                /**
                 * @description Language: does not equal; matches null too
                 * @example en-GB
                 */
                locale_ne?: components["parameters"]["UserFilterLocaleNe"];
                /**
                 * @description Language: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "en-GB"
                 *     ]
                 */
                locale_in?: components["parameters"]["UserFilterLocaleIn"];
                /**
                 * @description Language: has no value
                 * @example true
                 */
                locale_isnull?: components["parameters"]["UserFilterLocaleIsnull"];
                /**
                 * @description Language: contains, ignoring case; at least 3 characters
                 * @example en-GB
                 */
                locale_like?: components["parameters"]["UserFilterLocaleLike"];
                /**
                 * @description Time zone: equals
                 * @example Europe/Vienna
                 */
                timezone?: components["parameters"]["UserFilterTimezone"];
                /**
                 * @description Time zone: does not equal; matches null too
                 * @example Europe/Vienna
                 */
                timezone_ne?: components["parameters"]["UserFilterTimezoneNe"];
                /**
                 * @description Time zone: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Europe/Vienna"
                 *     ]
                 */
                timezone_in?: components["parameters"]["UserFilterTimezoneIn"];
                /**
                 * @description Time zone: has no value
                 * @example true
                 */
                timezone_isnull?: components["parameters"]["UserFilterTimezoneIsnull"];
                /**
                 * @description Time zone: contains, ignoring case; at least 3 characters
                 * @example Europe/Vienna
                 */
                timezone_like?: components["parameters"]["UserFilterTimezoneLike"];
                /**
                 * @description Carrier: equals
                 * @example acme
                 */
                carrier_id?: components["parameters"]["UserFilterCarrierId"];
                /**
                 * @description Carrier: does not equal; matches null too
                 * @example acme
                 */
                carrier_id_ne?: components["parameters"]["UserFilterCarrierIdNe"];
                /**
                 * @description Carrier: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "acme"
                 *     ]
                 */
                carrier_id_in?: components["parameters"]["UserFilterCarrierIdIn"];
                /**
                 * @description Carrier: has no value
                 * @example true
                 */
                carrier_id_isnull?: components["parameters"]["UserFilterCarrierIdIsnull"];
                /**
                 * @description Carrier: contains, ignoring case; at least 3 characters
                 * @example acme
                 */
                carrier_id_like?: components["parameters"]["UserFilterCarrierIdLike"];
                /**
                 * @description A role that the user has: equals
                 * @example carrier_user
                 */
                role?: components["parameters"]["UserFilterRole"];
                /**
                 * @description A role that the user has: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "carrier_user"
                 *     ]
                 */
                role_in?: components["parameters"]["UserFilterRoleIn"];
                /**
                 * @description Seen within 5 minutes in a session that has not ended: equals
                 * @example true
                 */
                online?: components["parameters"]["UserFilterOnline"];
                /**
                 * @description Seen within 5 minutes in a session that has not ended: does not equal; matches null too
                 * @example true
                 */
                online_ne?: components["parameters"]["UserFilterOnlineNe"];
                /**
                 * @description Seen within 5 minutes in a session that has not ended: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                online_in?: components["parameters"]["UserFilterOnlineIn"];
                /**
                 * @description Address of the last login (address or CIDR): equals
                 * @example 203.0.113.7
                 */
                last_login_ip?: components["parameters"]["UserFilterLastLoginIp"];
                /**
                 * @description Address of the last login (address or CIDR): does not equal; matches null too
                 * @example 203.0.113.7
                 */
                last_login_ip_ne?: components["parameters"]["UserFilterLastLoginIpNe"];
                /**
                 * @description Address of the last login (address or CIDR): is one of up to 500 different values, separated by commas
                 * @example [
                 *       "203.0.113.7"
                 *     ]
                 */
                last_login_ip_in?: components["parameters"]["UserFilterLastLoginIpIn"];
                /**
                 * @description Address of the last login (address or CIDR): has no value
                 * @example true
                 */
                last_login_ip_isnull?: components["parameters"]["UserFilterLastLoginIpIsnull"];
                /**
                 * @description Must change the password before any other request: equals
                 * @example false
                 */
                must_change_password?: components["parameters"]["UserFilterMustChangePassword"];
                /**
                 * @description Must change the password before any other request: does not equal; matches null too
                 * @example false
                 */
                must_change_password_ne?: components["parameters"]["UserFilterMustChangePasswordNe"];
                /**
                 * @description Must change the password before any other request: is one of up to 500 different values, separated by commas
                 * @example [
                 *       false
                 *     ]
                 */
                must_change_password_in?: components["parameters"]["UserFilterMustChangePasswordIn"];
                /**
                 * @description Has a confirmed second factor: equals
                 * @example true
                 */
                has_second_factor?: components["parameters"]["UserFilterHasSecondFactor"];
                /**
                 * @description Has a confirmed second factor: does not equal; matches null too
                 * @example true
                 */
                has_second_factor_ne?: components["parameters"]["UserFilterHasSecondFactorNe"];
                /**
                 * @description Has a confirmed second factor: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                has_second_factor_in?: components["parameters"]["UserFilterHasSecondFactorIn"];
                /**
                 * @description Has no second factor although one is required now: equals
                 * @example true
                 */
                must_enroll_second_factor?: components["parameters"]["UserFilterMustEnrollSecondFactor"];
                /**
                 * @description Has no second factor although one is required now: does not equal; matches null too
                 * @example true
                 */
                must_enroll_second_factor_ne?: components["parameters"]["UserFilterMustEnrollSecondFactorNe"];
                /**
                 * @description Has no second factor although one is required now: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                must_enroll_second_factor_in?: components["parameters"]["UserFilterMustEnrollSecondFactorIn"];
                /**
                 * @description When the user was created: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at?: components["parameters"]["UserFilterCreatedAt"];
                /**
                 * @description When the user was created: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_ne?: components["parameters"]["UserFilterCreatedAtNe"];
                /**
                 * @description When the user was created: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                created_at_in?: components["parameters"]["UserFilterCreatedAtIn"];
                /**
                 * @description When the user was created: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gt?: components["parameters"]["UserFilterCreatedAtGt"];
                /**
                 * @description When the user was created: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gte?: components["parameters"]["UserFilterCreatedAtGte"];
                /**
                 * @description When the user was created: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lt?: components["parameters"]["UserFilterCreatedAtLt"];
                /**
                 * @description When the user was created: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lte?: components["parameters"]["UserFilterCreatedAtLte"];
                /**
                 * @description When a field was last changed: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at?: components["parameters"]["UserFilterUpdatedAt"];
                /**
                 * @description When a field was last changed: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_ne?: components["parameters"]["UserFilterUpdatedAtNe"];
                /**
                 * @description When a field was last changed: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                updated_at_in?: components["parameters"]["UserFilterUpdatedAtIn"];
                /**
                 * @description When a field was last changed: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_gt?: components["parameters"]["UserFilterUpdatedAtGt"];
                /**
                 * @description When a field was last changed: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_gte?: components["parameters"]["UserFilterUpdatedAtGte"];
                /**
                 * @description When a field was last changed: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_lt?: components["parameters"]["UserFilterUpdatedAtLt"];
                /**
                 * @description When a field was last changed: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_lte?: components["parameters"]["UserFilterUpdatedAtLte"];
                /**
                 * @description Last login: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at?: components["parameters"]["UserFilterLastLoginAt"];
                /**
                 * @description Last login: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_ne?: components["parameters"]["UserFilterLastLoginAtNe"];
                /**
                 * @description Last login: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                last_login_at_in?: components["parameters"]["UserFilterLastLoginAtIn"];
                /**
                 * @description Last login: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_gt?: components["parameters"]["UserFilterLastLoginAtGt"];
                /**
                 * @description Last login: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_gte?: components["parameters"]["UserFilterLastLoginAtGte"];
                /**
                 * @description Last login: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_lt?: components["parameters"]["UserFilterLastLoginAtLt"];
                /**
                 * @description Last login: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_lte?: components["parameters"]["UserFilterLastLoginAtLte"];
                /**
                 * @description Last login: has no value
                 * @example true
                 */
                last_login_at_isnull?: components["parameters"]["UserFilterLastLoginAtIsnull"];
                /**
                 * @description Last activity: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at?: components["parameters"]["UserFilterLastSeenAt"];
                /**
                 * @description Last activity: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_ne?: components["parameters"]["UserFilterLastSeenAtNe"];
                /**
                 * @description Last activity: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                last_seen_at_in?: components["parameters"]["UserFilterLastSeenAtIn"];
                /**
                 * @description Last activity: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_gt?: components["parameters"]["UserFilterLastSeenAtGt"];
                /**
                 * @description Last activity: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_gte?: components["parameters"]["UserFilterLastSeenAtGte"];
                /**
                 * @description Last activity: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_lt?: components["parameters"]["UserFilterLastSeenAtLt"];
                /**
                 * @description Last activity: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_lte?: components["parameters"]["UserFilterLastSeenAtLte"];
                /**
                 * @description Last activity: has no value
                 * @example true
                 */
                last_seen_at_isnull?: components["parameters"]["UserFilterLastSeenAtIsnull"];
                /**
                 * @description When the password was last set: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at?: components["parameters"]["UserFilterPasswordChangedAt"];
                /**
                 * @description When the password was last set: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_ne?: components["parameters"]["UserFilterPasswordChangedAtNe"];
                /**
                 * @description When the password was last set: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                password_changed_at_in?: components["parameters"]["UserFilterPasswordChangedAtIn"];
                /**
                 * @description When the password was last set: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_gt?: components["parameters"]["UserFilterPasswordChangedAtGt"];
                /**
                 * @description When the password was last set: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_gte?: components["parameters"]["UserFilterPasswordChangedAtGte"];
                /**
                 * @description When the password was last set: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_lt?: components["parameters"]["UserFilterPasswordChangedAtLt"];
                /**
                 * @description When the password was last set: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_lte?: components["parameters"]["UserFilterPasswordChangedAtLte"];
                /**
                 * @description When the password was last set: has no value
                 * @example true
                 */
                password_changed_at_isnull?: components["parameters"]["UserFilterPasswordChangedAtIsnull"];
                /**
                 * @description End of the account lockout: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until?: components["parameters"]["UserFilterLockedUntil"];
                /**
                 * @description End of the account lockout: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_ne?: components["parameters"]["UserFilterLockedUntilNe"];
                /**
                 * @description End of the account lockout: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                locked_until_in?: components["parameters"]["UserFilterLockedUntilIn"];
                /**
                 * @description End of the account lockout: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_gt?: components["parameters"]["UserFilterLockedUntilGt"];
                /**
                 * @description End of the account lockout: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_gte?: components["parameters"]["UserFilterLockedUntilGte"];
                /**
                 * @description End of the account lockout: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_lt?: components["parameters"]["UserFilterLockedUntilLt"];
                /**
                 * @description End of the account lockout: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_lte?: components["parameters"]["UserFilterLockedUntilLte"];
                /**
                 * @description End of the account lockout: has no value
                 * @example true
                 */
                locked_until_isnull?: components["parameters"]["UserFilterLockedUntilIsnull"];
                /**
                 * @description Up to 5 words, each found in one of name, e-mail, first name, last name, job title, department; words of 1 or 2 characters match beginnings
                 * @example ada
                 */
                q?: components["parameters"]["UserFilterQ"];
            };
            header?: {
                /**
                 * @description A unique text of your choice, such as a UUID. A repeated request with the same key within 24 hours is not carried out again but gets the first response. A different query or body is rejected with 422. A repeated request while the first is still running is rejected with 409. Responses with 401, 429 or 5xx and dry runs are not stored. A user and the API keys that they created can send 50,000 requests with a key in 24 hours. A response of more than 2 KiB counts as several requests, one for each 2 KiB.
                 * @example 5f0c1a52-3b1e-4c37-9b8e-0d6f2a7c4e19
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "department": "Dispatch"
                 *     }
                 */
                "application/json": components["schemas"]["ChangeFoundUsersRequest"];
            };
        };
        responses: {
            /** @description The result, or with `dry_run` the preview */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResponse"];
                };
            };
            /** @description More than 10,000 users match: the operation in the background */
            202: {
                headers: {
                    /** @description Path of the operation */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResponse"];
                };
            };
        };
    };
    undoOperation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the operation, a UUID. Other text returns 404.
                 * @example 0192f0c3-9e21-7a54-b1d7-4c5b6a798897
                 */
                operation_id: components["parameters"]["OperationIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The operation that does the undo */
            202: {
                headers: {
                    /** @description Path of that operation */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationResponse"];
                };
            };
        };
    };
    exportUsers: {
        parameters: {
            query?: {
                /**
                 * @description Format of the file
                 * @example csv
                 */
                format?: components["parameters"]["Format"];
                /**
                 * @description Columns of the file, in this order; all by default. Names that repeat are ignored
                 * @example [
                 *       "user_id"
                 *     ]
                 */
                column_in?: components["parameters"]["ColumnIn"];
                /**
                 * @description Character between the cells of a CSV file. Spreadsheets in German expect `semicolon`
                 * @example comma
                 */
                delimiter?: components["parameters"]["Delimiter"];
                /**
                 * @description `true`: begins a CSV file with a byte order mark, so that Excel reads it as UTF-8
                 * @example true
                 */
                bom?: components["parameters"]["Bom"];
                /**
                 * @description `true`: includes `password_hash`, except of users that the caller may not change; requires `user:purge` and `format=ndjson`
                 * @example true
                 */
                hashes?: components["parameters"]["Hashes"];
                /**
                 * @description Id: equals
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id?: components["parameters"]["UserFilterUserId"];
                /**
                 * @description Id: does not equal; matches null too
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id_ne?: components["parameters"]["UserFilterUserIdNe"];
                /**
                 * @description Id: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e"
                 *     ]
                 */
                user_id_in?: components["parameters"]["UserFilterUserIdIn"];
                /**
                 * @description Kind of user: equals
                 * @example carrier
                 */
                user_type?: components["parameters"]["UserFilterUserType"];
                /**
                 * @description Kind of user: does not equal; matches null too
                 * @example carrier
                 */
                user_type_ne?: components["parameters"]["UserFilterUserTypeNe"];
                /**
                 * @description Kind of user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "carrier"
                 *     ]
                 */
                user_type_in?: components["parameters"]["UserFilterUserTypeIn"];
                /**
                 * @description State: equals
                 * @example active
                 */
                status?: components["parameters"]["UserFilterStatus"];
                /**
                 * @description State: does not equal; matches null too
                 * @example active
                 */
                status_ne?: components["parameters"]["UserFilterStatusNe"];
                /**
                 * @description State: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "active"
                 *     ]
                 */
                status_in?: components["parameters"]["UserFilterStatusIn"];
                /**
                 * @description Login name, without regard to case: equals
                 * @example ada
                 */
                name?: components["parameters"]["UserFilterName"];
                /**
                 * @description Login name, without regard to case: does not equal; matches null too
                 * @example ada
                 */
                name_ne?: components["parameters"]["UserFilterNameNe"];
                /**
                 * @description Login name, without regard to case: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "ada"
                 *     ]
                 */
                name_in?: components["parameters"]["UserFilterNameIn"];
                /**
                 * @description Login name, without regard to case: contains, ignoring case; at least 3 characters
                 * @example ada
                 */
                name_like?: components["parameters"]["UserFilterNameLike"];
                /**
                 * @description E-mail address, without regard to case: equals
                 * @example ada@example.com
                 */
                email?: components["parameters"]["UserFilterEmail"];
                /**
                 * @description E-mail address, without regard to case: does not equal; matches null too
                 * @example ada@example.com
                 */
                email_ne?: components["parameters"]["UserFilterEmailNe"];
                /**
                 * @description E-mail address, without regard to case: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "ada@example.com"
                 *     ]
                 */
                email_in?: components["parameters"]["UserFilterEmailIn"];
                /**
                 * @description E-mail address, without regard to case: contains, ignoring case; at least 3 characters
                 * @example ada@example.com
                 */
                email_like?: components["parameters"]["UserFilterEmailLike"];
                /**
                 * @description First name: equals
                 * @example Ada
                 */
                first_name?: components["parameters"]["UserFilterFirstName"];
                /**
                 * @description First name: does not equal; matches null too
                 * @example Ada
                 */
                first_name_ne?: components["parameters"]["UserFilterFirstNameNe"];
                /**
                 * @description First name: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Ada"
                 *     ]
                 */
                first_name_in?: components["parameters"]["UserFilterFirstNameIn"];
                /**
                 * @description First name: contains, ignoring case; at least 3 characters
                 * @example Ada
                 */
                first_name_like?: components["parameters"]["UserFilterFirstNameLike"];
                /**
                 * @description Last name: equals
                 * @example Lovelace
                 */
                last_name?: components["parameters"]["UserFilterLastName"];
                /**
                 * @description Last name: does not equal; matches null too
                 * @example Lovelace
                 */
                last_name_ne?: components["parameters"]["UserFilterLastNameNe"];
                /**
                 * @description Last name: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Lovelace"
                 *     ]
                 */
                last_name_in?: components["parameters"]["UserFilterLastNameIn"];
                /**
                 * @description Last name: contains, ignoring case; at least 3 characters
                 * @example Lovelace
                 */
                last_name_like?: components["parameters"]["UserFilterLastNameLike"];
                /**
                 * @description Phone number: equals
                 * @example +4312345678
                 */
                phone?: components["parameters"]["UserFilterPhone"];
                /**
                 * @description Phone number: does not equal; matches null too
                 * @example +4312345678
                 */
                phone_ne?: components["parameters"]["UserFilterPhoneNe"];
                /**
                 * @description Phone number: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "+4312345678"
                 *     ]
                 */
                phone_in?: components["parameters"]["UserFilterPhoneIn"];
                /**
                 * @description Phone number: has no value
                 * @example true
                 */
                phone_isnull?: components["parameters"]["UserFilterPhoneIsnull"];
                /**
                 * @description Phone number: contains, ignoring case; at least 3 characters
                 * @example +4312345678
                 */
                phone_like?: components["parameters"]["UserFilterPhoneLike"];
                /**
                 * @description Job title: equals
                 * @example Head of Operations
                 */
                job_title?: components["parameters"]["UserFilterJobTitle"];
                /**
                 * @description Job title: does not equal; matches null too
                 * @example Head of Operations
                 */
                job_title_ne?: components["parameters"]["UserFilterJobTitleNe"];
                /**
                 * @description Job title: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Head of Operations"
                 *     ]
                 */
                job_title_in?: components["parameters"]["UserFilterJobTitleIn"];
                /**
                 * @description Job title: has no value
                 * @example true
                 */
                job_title_isnull?: components["parameters"]["UserFilterJobTitleIsnull"];
                /**
                 * @description Job title: contains, ignoring case; at least 3 characters
                 * @example Head of Operations
                 */
                job_title_like?: components["parameters"]["UserFilterJobTitleLike"];
                /**
                 * @description Department: equals
                 * @example Dispatch
                 */
                department?: components["parameters"]["UserFilterDepartment"];
                /**
                 * @description Department: does not equal; matches null too
                 * @example Dispatch
                 */
                department_ne?: components["parameters"]["UserFilterDepartmentNe"];
                /**
                 * @description Department: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Dispatch"
                 *     ]
                 */
                department_in?: components["parameters"]["UserFilterDepartmentIn"];
                /**
                 * @description Department: has no value
                 * @example true
                 */
                department_isnull?: components["parameters"]["UserFilterDepartmentIsnull"];
                /**
                 * @description Department: contains, ignoring case; at least 3 characters
                 * @example Dispatch
                 */
                department_like?: components["parameters"]["UserFilterDepartmentLike"];
                /**
                 * @description Language: equals
                 * @example en-GB
                 */
                locale?: components["parameters"]["UserFilterLocale"];
                /**
                 * @description Language: does not equal; matches null too
                 * @example en-GB
                 */
                locale_ne?: components["parameters"]["UserFilterLocaleNe"];
                /**
                 * @description Language: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "en-GB"
                 *     ]
                 */
                locale_in?: components["parameters"]["UserFilterLocaleIn"];
                /**
                 * @description Language: has no value
                 * @example true
                 */
                locale_isnull?: components["parameters"]["UserFilterLocaleIsnull"];
                /**
                 * @description Language: contains, ignoring case; at least 3 characters
                 * @example en-GB
                 */
                locale_like?: components["parameters"]["UserFilterLocaleLike"];
                /**
                 * @description Time zone: equals
                 * @example Europe/Vienna
                 */
                timezone?: components["parameters"]["UserFilterTimezone"];
                /**
                 * @description Time zone: does not equal; matches null too
                 * @example Europe/Vienna
                 */
                timezone_ne?: components["parameters"]["UserFilterTimezoneNe"];
                /**
                 * @description Time zone: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Europe/Vienna"
                 *     ]
                 */
                timezone_in?: components["parameters"]["UserFilterTimezoneIn"];
                /**
                 * @description Time zone: has no value
                 * @example true
                 */
                timezone_isnull?: components["parameters"]["UserFilterTimezoneIsnull"];
                /**
                 * @description Time zone: contains, ignoring case; at least 3 characters
                 * @example Europe/Vienna
                 */
                timezone_like?: components["parameters"]["UserFilterTimezoneLike"];
                /**
                 * @description Carrier: equals
                 * @example acme
                 */
                carrier_id?: components["parameters"]["UserFilterCarrierId"];
                /**
                 * @description Carrier: does not equal; matches null too
                 * @example acme
                 */
                carrier_id_ne?: components["parameters"]["UserFilterCarrierIdNe"];
                /**
                 * @description Carrier: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "acme"
                 *     ]
                 */
                carrier_id_in?: components["parameters"]["UserFilterCarrierIdIn"];
                /**
                 * @description Carrier: has no value
                 * @example true
                 */
                carrier_id_isnull?: components["parameters"]["UserFilterCarrierIdIsnull"];
                /**
                 * @description Carrier: contains, ignoring case; at least 3 characters
                 * @example acme
                 */
                carrier_id_like?: components["parameters"]["UserFilterCarrierIdLike"];
                /**
                 * @description A role that the user has: equals
                 * @example carrier_user
                 */
                role?: components["parameters"]["UserFilterRole"];
                /**
                 * @description A role that the user has: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "carrier_user"
                 *     ]
                 */
                role_in?: components["parameters"]["UserFilterRoleIn"];
                /**
                 * @description Seen within 5 minutes in a session that has not ended: equals
                 * @example true
                 */
                online?: components["parameters"]["UserFilterOnline"];
                /**
                 * @description Seen within 5 minutes in a session that has not ended: does not equal; matches null too
                 * @example true
                 */
                online_ne?: components["parameters"]["UserFilterOnlineNe"];
                /**
                 * @description Seen within 5 minutes in a session that has not ended: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                online_in?: components["parameters"]["UserFilterOnlineIn"];
                /**
                 * @description Address of the last login (address or CIDR): equals
                 * @example 203.0.113.7
                 */
                last_login_ip?: components["parameters"]["UserFilterLastLoginIp"];
                /**
                 * @description Address of the last login (address or CIDR): does not equal; matches null too
                 * @example 203.0.113.7
                 */
                last_login_ip_ne?: components["parameters"]["UserFilterLastLoginIpNe"];
                /**
                 * @description Address of the last login (address or CIDR): is one of up to 500 different values, separated by commas
                 * @example [
                 *       "203.0.113.7"
                 *     ]
                 */
                last_login_ip_in?: components["parameters"]["UserFilterLastLoginIpIn"];
                /**
                 * @description Address of the last login (address or CIDR): has no value
                 * @example true
                 */
                last_login_ip_isnull?: components["parameters"]["UserFilterLastLoginIpIsnull"];
                /**
                 * @description Must change the password before any other request: equals
                 * @example false
                 */
                must_change_password?: components["parameters"]["UserFilterMustChangePassword"];
                /**
                 * @description Must change the password before any other request: does not equal; matches null too
                 * @example false
                 */
                must_change_password_ne?: components["parameters"]["UserFilterMustChangePasswordNe"];
                /**
                 * @description Must change the password before any other request: is one of up to 500 different values, separated by commas
                 * @example [
                 *       false
                 *     ]
                 */
                must_change_password_in?: components["parameters"]["UserFilterMustChangePasswordIn"];
                /**
                 * @description Has a confirmed second factor: equals
                 * @example true
                 */
                has_second_factor?: components["parameters"]["UserFilterHasSecondFactor"];
                /**
                 * @description Has a confirmed second factor: does not equal; matches null too
                 * @example true
                 */
                has_second_factor_ne?: components["parameters"]["UserFilterHasSecondFactorNe"];
                /**
                 * @description Has a confirmed second factor: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                has_second_factor_in?: components["parameters"]["UserFilterHasSecondFactorIn"];
                /**
                 * @description Has no second factor although one is required now: equals
                 * @example true
                 */
                must_enroll_second_factor?: components["parameters"]["UserFilterMustEnrollSecondFactor"];
                /**
                 * @description Has no second factor although one is required now: does not equal; matches null too
                 * @example true
                 */
                must_enroll_second_factor_ne?: components["parameters"]["UserFilterMustEnrollSecondFactorNe"];
                /**
                 * @description Has no second factor although one is required now: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                must_enroll_second_factor_in?: components["parameters"]["UserFilterMustEnrollSecondFactorIn"];
                /**
                 * @description When the user was created: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at?: components["parameters"]["UserFilterCreatedAt"];
                /**
                 * @description When the user was created: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_ne?: components["parameters"]["UserFilterCreatedAtNe"];
                /**
                 * @description When the user was created: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                created_at_in?: components["parameters"]["UserFilterCreatedAtIn"];
                /**
                 * @description When the user was created: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gt?: components["parameters"]["UserFilterCreatedAtGt"];
                /**
                 * @description When the user was created: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gte?: components["parameters"]["UserFilterCreatedAtGte"];
                /**
                 * @description When the user was created: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lt?: components["parameters"]["UserFilterCreatedAtLt"];
                /**
                 * @description When the user was created: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lte?: components["parameters"]["UserFilterCreatedAtLte"];
                /**
                 * @description When a field was last changed: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at?: components["parameters"]["UserFilterUpdatedAt"];
                /**
                 * @description When a field was last changed: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_ne?: components["parameters"]["UserFilterUpdatedAtNe"];
                /**
                 * @description When a field was last changed: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                updated_at_in?: components["parameters"]["UserFilterUpdatedAtIn"];
                /**
                 * @description When a field was last changed: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_gt?: components["parameters"]["UserFilterUpdatedAtGt"];
                /**
                 * @description When a field was last changed: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_gte?: components["parameters"]["UserFilterUpdatedAtGte"];
                /**
                 * @description When a field was last changed: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_lt?: components["parameters"]["UserFilterUpdatedAtLt"];
                /**
                 * @description When a field was last changed: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_lte?: components["parameters"]["UserFilterUpdatedAtLte"];
                /**
                 * @description Last login: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at?: components["parameters"]["UserFilterLastLoginAt"];
                /**
                 * @description Last login: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_ne?: components["parameters"]["UserFilterLastLoginAtNe"];
                /**
                 * @description Last login: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                last_login_at_in?: components["parameters"]["UserFilterLastLoginAtIn"];
                /**
                 * @description Last login: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_gt?: components["parameters"]["UserFilterLastLoginAtGt"];
                /**
                 * @description Last login: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_gte?: components["parameters"]["UserFilterLastLoginAtGte"];
                /**
                 * @description Last login: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_lt?: components["parameters"]["UserFilterLastLoginAtLt"];
                /**
                 * @description Last login: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_lte?: components["parameters"]["UserFilterLastLoginAtLte"];
                /**
                 * @description Last login: has no value
                 * @example true
                 */
                last_login_at_isnull?: components["parameters"]["UserFilterLastLoginAtIsnull"];
                /**
                 * @description Last activity: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at?: components["parameters"]["UserFilterLastSeenAt"];
                /**
                 * @description Last activity: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_ne?: components["parameters"]["UserFilterLastSeenAtNe"];
                /**
                 * @description Last activity: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                last_seen_at_in?: components["parameters"]["UserFilterLastSeenAtIn"];
                /**
                 * @description Last activity: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_gt?: components["parameters"]["UserFilterLastSeenAtGt"];
                /**
                 * @description Last activity: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_gte?: components["parameters"]["UserFilterLastSeenAtGte"];
                /**
                 * @description Last activity: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_lt?: components["parameters"]["UserFilterLastSeenAtLt"];
                /**
                 * @description Last activity: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_lte?: components["parameters"]["UserFilterLastSeenAtLte"];
                /**
                 * @description Last activity: has no value
                 * @example true
                 */
                last_seen_at_isnull?: components["parameters"]["UserFilterLastSeenAtIsnull"];
                /**
                 * @description When the password was last set: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at?: components["parameters"]["UserFilterPasswordChangedAt"];
                /**
                 * @description When the password was last set: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_ne?: components["parameters"]["UserFilterPasswordChangedAtNe"];
                /**
                 * @description When the password was last set: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                password_changed_at_in?: components["parameters"]["UserFilterPasswordChangedAtIn"];
                /**
                 * @description When the password was last set: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_gt?: components["parameters"]["UserFilterPasswordChangedAtGt"];
                /**
                 * @description When the password was last set: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_gte?: components["parameters"]["UserFilterPasswordChangedAtGte"];
                /**
                 * @description When the password was last set: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_lt?: components["parameters"]["UserFilterPasswordChangedAtLt"];
                /**
                 * @description When the password was last set: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_lte?: components["parameters"]["UserFilterPasswordChangedAtLte"];
                /**
                 * @description When the password was last set: has no value
                 * @example true
                 */
                password_changed_at_isnull?: components["parameters"]["UserFilterPasswordChangedAtIsnull"];
                /**
                 * @description End of the account lockout: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until?: components["parameters"]["UserFilterLockedUntil"];
                /**
                 * @description End of the account lockout: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_ne?: components["parameters"]["UserFilterLockedUntilNe"];
                /**
                 * @description End of the account lockout: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                locked_until_in?: components["parameters"]["UserFilterLockedUntilIn"];
                /**
                 * @description End of the account lockout: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_gt?: components["parameters"]["UserFilterLockedUntilGt"];
                /**
                 * @description End of the account lockout: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_gte?: components["parameters"]["UserFilterLockedUntilGte"];
                /**
                 * @description End of the account lockout: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_lt?: components["parameters"]["UserFilterLockedUntilLt"];
                /**
                 * @description End of the account lockout: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_lte?: components["parameters"]["UserFilterLockedUntilLte"];
                /**
                 * @description End of the account lockout: has no value
                 * @example true
                 */
                locked_until_isnull?: components["parameters"]["UserFilterLockedUntilIsnull"];
                /**
                 * @description Up to 5 words, each found in one of name, e-mail, first name, last name, job title, department; words of 1 or 2 characters match beginnings
                 * @example ada
                 */
                q?: components["parameters"]["UserFilterQ"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file */
            200: {
                headers: {
                    /** @description Name of the file */
                    "Content-Disposition"?: string;
                    /** @description Value of `after` for `GET /change/list`, taken before the first user was read */
                    "Changes-Cursor"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                    "application/x-ndjson": string;
                };
            };
        };
    };
    createExportLink: {
        parameters: {
            query?: {
                /**
                 * @description Format of the file
                 * @example csv
                 */
                format?: components["parameters"]["Format"];
                /**
                 * @description Columns of the file, in this order; all by default. Names that repeat are ignored
                 * @example [
                 *       "user_id"
                 *     ]
                 */
                column_in?: components["parameters"]["ColumnIn"];
                /**
                 * @description Character between the cells of a CSV file. Spreadsheets in German expect `semicolon`
                 * @example comma
                 */
                delimiter?: components["parameters"]["Delimiter"];
                /**
                 * @description `true`: begins a CSV file with a byte order mark, so that Excel reads it as UTF-8
                 * @example true
                 */
                bom?: components["parameters"]["Bom"];
                /**
                 * @description `true`: includes `password_hash`, except of users that the caller may not change; requires `user:purge` and `format=ndjson`
                 * @example true
                 */
                hashes?: components["parameters"]["Hashes"];
                /**
                 * @description Id: equals
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id?: components["parameters"]["UserFilterUserId"];
                /**
                 * @description Id: does not equal; matches null too
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id_ne?: components["parameters"]["UserFilterUserIdNe"];
                /**
                 * @description Id: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e"
                 *     ]
                 */
                user_id_in?: components["parameters"]["UserFilterUserIdIn"];
                /**
                 * @description Kind of user: equals
                 * @example carrier
                 */
                user_type?: components["parameters"]["UserFilterUserType"];
                /**
                 * @description Kind of user: does not equal; matches null too
                 * @example carrier
                 */
                user_type_ne?: components["parameters"]["UserFilterUserTypeNe"];
                /**
                 * @description Kind of user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "carrier"
                 *     ]
                 */
                user_type_in?: components["parameters"]["UserFilterUserTypeIn"];
                /**
                 * @description State: equals
                 * @example active
                 */
                status?: components["parameters"]["UserFilterStatus"];
                /**
                 * @description State: does not equal; matches null too
                 * @example active
                 */
                status_ne?: components["parameters"]["UserFilterStatusNe"];
                /**
                 * @description State: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "active"
                 *     ]
                 */
                status_in?: components["parameters"]["UserFilterStatusIn"];
                /**
                 * @description Login name, without regard to case: equals
                 * @example ada
                 */
                name?: components["parameters"]["UserFilterName"];
                /**
                 * @description Login name, without regard to case: does not equal; matches null too
                 * @example ada
                 */
                name_ne?: components["parameters"]["UserFilterNameNe"];
                /**
                 * @description Login name, without regard to case: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "ada"
                 *     ]
                 */
                name_in?: components["parameters"]["UserFilterNameIn"];
                /**
                 * @description Login name, without regard to case: contains, ignoring case; at least 3 characters
                 * @example ada
                 */
                name_like?: components["parameters"]["UserFilterNameLike"];
                /**
                 * @description E-mail address, without regard to case: equals
                 * @example ada@example.com
                 */
                email?: components["parameters"]["UserFilterEmail"];
                /**
                 * @description E-mail address, without regard to case: does not equal; matches null too
                 * @example ada@example.com
                 */
                email_ne?: components["parameters"]["UserFilterEmailNe"];
                /**
                 * @description E-mail address, without regard to case: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "ada@example.com"
                 *     ]
                 */
                email_in?: components["parameters"]["UserFilterEmailIn"];
                /**
                 * @description E-mail address, without regard to case: contains, ignoring case; at least 3 characters
                 * @example ada@example.com
                 */
                email_like?: components["parameters"]["UserFilterEmailLike"];
                /**
                 * @description First name: equals
                 * @example Ada
                 */
                first_name?: components["parameters"]["UserFilterFirstName"];
                /**
                 * @description First name: does not equal; matches null too
                 * @example Ada
                 */
                first_name_ne?: components["parameters"]["UserFilterFirstNameNe"];
                /**
                 * @description First name: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Ada"
                 *     ]
                 */
                first_name_in?: components["parameters"]["UserFilterFirstNameIn"];
                /**
                 * @description First name: contains, ignoring case; at least 3 characters
                 * @example Ada
                 */
                first_name_like?: components["parameters"]["UserFilterFirstNameLike"];
                /**
                 * @description Last name: equals
                 * @example Lovelace
                 */
                last_name?: components["parameters"]["UserFilterLastName"];
                /**
                 * @description Last name: does not equal; matches null too
                 * @example Lovelace
                 */
                last_name_ne?: components["parameters"]["UserFilterLastNameNe"];
                /**
                 * @description Last name: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Lovelace"
                 *     ]
                 */
                last_name_in?: components["parameters"]["UserFilterLastNameIn"];
                /**
                 * @description Last name: contains, ignoring case; at least 3 characters
                 * @example Lovelace
                 */
                last_name_like?: components["parameters"]["UserFilterLastNameLike"];
                /**
                 * @description Phone number: equals
                 * @example +4312345678
                 */
                phone?: components["parameters"]["UserFilterPhone"];
                /**
                 * @description Phone number: does not equal; matches null too
                 * @example +4312345678
                 */
                phone_ne?: components["parameters"]["UserFilterPhoneNe"];
                /**
                 * @description Phone number: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "+4312345678"
                 *     ]
                 */
                phone_in?: components["parameters"]["UserFilterPhoneIn"];
                /**
                 * @description Phone number: has no value
                 * @example true
                 */
                phone_isnull?: components["parameters"]["UserFilterPhoneIsnull"];
                /**
                 * @description Phone number: contains, ignoring case; at least 3 characters
                 * @example +4312345678
                 */
                phone_like?: components["parameters"]["UserFilterPhoneLike"];
                /**
                 * @description Job title: equals
                 * @example Head of Operations
                 */
                job_title?: components["parameters"]["UserFilterJobTitle"];
                /**
                 * @description Job title: does not equal; matches null too
                 * @example Head of Operations
                 */
                job_title_ne?: components["parameters"]["UserFilterJobTitleNe"];
                /**
                 * @description Job title: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Head of Operations"
                 *     ]
                 */
                job_title_in?: components["parameters"]["UserFilterJobTitleIn"];
                /**
                 * @description Job title: has no value
                 * @example true
                 */
                job_title_isnull?: components["parameters"]["UserFilterJobTitleIsnull"];
                /**
                 * @description Job title: contains, ignoring case; at least 3 characters
                 * @example Head of Operations
                 */
                job_title_like?: components["parameters"]["UserFilterJobTitleLike"];
                /**
                 * @description Department: equals
                 * @example Dispatch
                 */
                department?: components["parameters"]["UserFilterDepartment"];
                /**
                 * @description Department: does not equal; matches null too
                 * @example Dispatch
                 */
                department_ne?: components["parameters"]["UserFilterDepartmentNe"];
                /**
                 * @description Department: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Dispatch"
                 *     ]
                 */
                department_in?: components["parameters"]["UserFilterDepartmentIn"];
                /**
                 * @description Department: has no value
                 * @example true
                 */
                department_isnull?: components["parameters"]["UserFilterDepartmentIsnull"];
                /**
                 * @description Department: contains, ignoring case; at least 3 characters
                 * @example Dispatch
                 */
                department_like?: components["parameters"]["UserFilterDepartmentLike"];
                /**
                 * @description Language: equals
                 * @example en-GB
                 */
                locale?: components["parameters"]["UserFilterLocale"];
                /**
                 * @description Language: does not equal; matches null too
                 * @example en-GB
                 */
                locale_ne?: components["parameters"]["UserFilterLocaleNe"];
                /**
                 * @description Language: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "en-GB"
                 *     ]
                 */
                locale_in?: components["parameters"]["UserFilterLocaleIn"];
                /**
                 * @description Language: has no value
                 * @example true
                 */
                locale_isnull?: components["parameters"]["UserFilterLocaleIsnull"];
                /**
                 * @description Language: contains, ignoring case; at least 3 characters
                 * @example en-GB
                 */
                locale_like?: components["parameters"]["UserFilterLocaleLike"];
                /**
                 * @description Time zone: equals
                 * @example Europe/Vienna
                 */
                timezone?: components["parameters"]["UserFilterTimezone"];
                /**
                 * @description Time zone: does not equal; matches null too
                 * @example Europe/Vienna
                 */
                timezone_ne?: components["parameters"]["UserFilterTimezoneNe"];
                /**
                 * @description Time zone: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Europe/Vienna"
                 *     ]
                 */
                timezone_in?: components["parameters"]["UserFilterTimezoneIn"];
                /**
                 * @description Time zone: has no value
                 * @example true
                 */
                timezone_isnull?: components["parameters"]["UserFilterTimezoneIsnull"];
                /**
                 * @description Time zone: contains, ignoring case; at least 3 characters
                 * @example Europe/Vienna
                 */
                timezone_like?: components["parameters"]["UserFilterTimezoneLike"];
                /**
                 * @description Carrier: equals
                 * @example acme
                 */
                carrier_id?: components["parameters"]["UserFilterCarrierId"];
                /**
                 * @description Carrier: does not equal; matches null too
                 * @example acme
                 */
                carrier_id_ne?: components["parameters"]["UserFilterCarrierIdNe"];
                /**
                 * @description Carrier: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "acme"
                 *     ]
                 */
                carrier_id_in?: components["parameters"]["UserFilterCarrierIdIn"];
                /**
                 * @description Carrier: has no value
                 * @example true
                 */
                carrier_id_isnull?: components["parameters"]["UserFilterCarrierIdIsnull"];
                /**
                 * @description Carrier: contains, ignoring case; at least 3 characters
                 * @example acme
                 */
                carrier_id_like?: components["parameters"]["UserFilterCarrierIdLike"];
                /**
                 * @description A role that the user has: equals
                 * @example carrier_user
                 */
                role?: components["parameters"]["UserFilterRole"];
                /**
                 * @description A role that the user has: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "carrier_user"
                 *     ]
                 */
                role_in?: components["parameters"]["UserFilterRoleIn"];
                /**
                 * @description Seen within 5 minutes in a session that has not ended: equals
                 * @example true
                 */
                online?: components["parameters"]["UserFilterOnline"];
                /**
                 * @description Seen within 5 minutes in a session that has not ended: does not equal; matches null too
                 * @example true
                 */
                online_ne?: components["parameters"]["UserFilterOnlineNe"];
                /**
                 * @description Seen within 5 minutes in a session that has not ended: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                online_in?: components["parameters"]["UserFilterOnlineIn"];
                /**
                 * @description Address of the last login (address or CIDR): equals
                 * @example 203.0.113.7
                 */
                last_login_ip?: components["parameters"]["UserFilterLastLoginIp"];
                /**
                 * @description Address of the last login (address or CIDR): does not equal; matches null too
                 * @example 203.0.113.7
                 */
                last_login_ip_ne?: components["parameters"]["UserFilterLastLoginIpNe"];
                /**
                 * @description Address of the last login (address or CIDR): is one of up to 500 different values, separated by commas
                 * @example [
                 *       "203.0.113.7"
                 *     ]
                 */
                last_login_ip_in?: components["parameters"]["UserFilterLastLoginIpIn"];
                /**
                 * @description Address of the last login (address or CIDR): has no value
                 * @example true
                 */
                last_login_ip_isnull?: components["parameters"]["UserFilterLastLoginIpIsnull"];
                /**
                 * @description Must change the password before any other request: equals
                 * @example false
                 */
                must_change_password?: components["parameters"]["UserFilterMustChangePassword"];
                /**
                 * @description Must change the password before any other request: does not equal; matches null too
                 * @example false
                 */
                must_change_password_ne?: components["parameters"]["UserFilterMustChangePasswordNe"];
                /**
                 * @description Must change the password before any other request: is one of up to 500 different values, separated by commas
                 * @example [
                 *       false
                 *     ]
                 */
                must_change_password_in?: components["parameters"]["UserFilterMustChangePasswordIn"];
                /**
                 * @description Has a confirmed second factor: equals
                 * @example true
                 */
                has_second_factor?: components["parameters"]["UserFilterHasSecondFactor"];
                /**
                 * @description Has a confirmed second factor: does not equal; matches null too
                 * @example true
                 */
                has_second_factor_ne?: components["parameters"]["UserFilterHasSecondFactorNe"];
                /**
                 * @description Has a confirmed second factor: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                has_second_factor_in?: components["parameters"]["UserFilterHasSecondFactorIn"];
                /**
                 * @description Has no second factor although one is required now: equals
                 * @example true
                 */
                must_enroll_second_factor?: components["parameters"]["UserFilterMustEnrollSecondFactor"];
                /**
                 * @description Has no second factor although one is required now: does not equal; matches null too
                 * @example true
                 */
                must_enroll_second_factor_ne?: components["parameters"]["UserFilterMustEnrollSecondFactorNe"];
                /**
                 * @description Has no second factor although one is required now: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                must_enroll_second_factor_in?: components["parameters"]["UserFilterMustEnrollSecondFactorIn"];
                /**
                 * @description When the user was created: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at?: components["parameters"]["UserFilterCreatedAt"];
                /**
                 * @description When the user was created: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_ne?: components["parameters"]["UserFilterCreatedAtNe"];
                /**
                 * @description When the user was created: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                created_at_in?: components["parameters"]["UserFilterCreatedAtIn"];
                /**
                 * @description When the user was created: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gt?: components["parameters"]["UserFilterCreatedAtGt"];
                /**
                 * @description When the user was created: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gte?: components["parameters"]["UserFilterCreatedAtGte"];
                /**
                 * @description When the user was created: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lt?: components["parameters"]["UserFilterCreatedAtLt"];
                /**
                 * @description When the user was created: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lte?: components["parameters"]["UserFilterCreatedAtLte"];
                /**
                 * @description When a field was last changed: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at?: components["parameters"]["UserFilterUpdatedAt"];
                /**
                 * @description When a field was last changed: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_ne?: components["parameters"]["UserFilterUpdatedAtNe"];
                /**
                 * @description When a field was last changed: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                updated_at_in?: components["parameters"]["UserFilterUpdatedAtIn"];
                /**
                 * @description When a field was last changed: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_gt?: components["parameters"]["UserFilterUpdatedAtGt"];
                /**
                 * @description When a field was last changed: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_gte?: components["parameters"]["UserFilterUpdatedAtGte"];
                /**
                 * @description When a field was last changed: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_lt?: components["parameters"]["UserFilterUpdatedAtLt"];
                /**
                 * @description When a field was last changed: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_lte?: components["parameters"]["UserFilterUpdatedAtLte"];
                /**
                 * @description Last login: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at?: components["parameters"]["UserFilterLastLoginAt"];
                /**
                 * @description Last login: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_ne?: components["parameters"]["UserFilterLastLoginAtNe"];
                /**
                 * @description Last login: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                last_login_at_in?: components["parameters"]["UserFilterLastLoginAtIn"];
                /**
                 * @description Last login: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_gt?: components["parameters"]["UserFilterLastLoginAtGt"];
                /**
                 * @description Last login: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_gte?: components["parameters"]["UserFilterLastLoginAtGte"];
                /**
                 * @description Last login: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_lt?: components["parameters"]["UserFilterLastLoginAtLt"];
                /**
                 * @description Last login: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_lte?: components["parameters"]["UserFilterLastLoginAtLte"];
                /**
                 * @description Last login: has no value
                 * @example true
                 */
                last_login_at_isnull?: components["parameters"]["UserFilterLastLoginAtIsnull"];
                /**
                 * @description Last activity: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at?: components["parameters"]["UserFilterLastSeenAt"];
                /**
                 * @description Last activity: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_ne?: components["parameters"]["UserFilterLastSeenAtNe"];
                /**
                 * @description Last activity: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                last_seen_at_in?: components["parameters"]["UserFilterLastSeenAtIn"];
                /**
                 * @description Last activity: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_gt?: components["parameters"]["UserFilterLastSeenAtGt"];
                /**
                 * @description Last activity: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_gte?: components["parameters"]["UserFilterLastSeenAtGte"];
                /**
                 * @description Last activity: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_lt?: components["parameters"]["UserFilterLastSeenAtLt"];
                /**
                 * @description Last activity: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_lte?: components["parameters"]["UserFilterLastSeenAtLte"];
                /**
                 * @description Last activity: has no value
                 * @example true
                 */
                last_seen_at_isnull?: components["parameters"]["UserFilterLastSeenAtIsnull"];
                /**
                 * @description When the password was last set: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at?: components["parameters"]["UserFilterPasswordChangedAt"];
                /**
                 * @description When the password was last set: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_ne?: components["parameters"]["UserFilterPasswordChangedAtNe"];
                /**
                 * @description When the password was last set: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                password_changed_at_in?: components["parameters"]["UserFilterPasswordChangedAtIn"];
                /**
                 * @description When the password was last set: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_gt?: components["parameters"]["UserFilterPasswordChangedAtGt"];
                /**
                 * @description When the password was last set: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_gte?: components["parameters"]["UserFilterPasswordChangedAtGte"];
                /**
                 * @description When the password was last set: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_lt?: components["parameters"]["UserFilterPasswordChangedAtLt"];
                /**
                 * @description When the password was last set: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_lte?: components["parameters"]["UserFilterPasswordChangedAtLte"];
                /**
                 * @description When the password was last set: has no value
                 * @example true
                 */
                password_changed_at_isnull?: components["parameters"]["UserFilterPasswordChangedAtIsnull"];
                /**
                 * @description End of the account lockout: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until?: components["parameters"]["UserFilterLockedUntil"];
                /**
                 * @description End of the account lockout: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_ne?: components["parameters"]["UserFilterLockedUntilNe"];
                /**
                 * @description End of the account lockout: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                locked_until_in?: components["parameters"]["UserFilterLockedUntilIn"];
                /**
                 * @description End of the account lockout: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_gt?: components["parameters"]["UserFilterLockedUntilGt"];
                /**
                 * @description End of the account lockout: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_gte?: components["parameters"]["UserFilterLockedUntilGte"];
                /**
                 * @description End of the account lockout: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_lt?: components["parameters"]["UserFilterLockedUntilLt"];
                /**
                 * @description End of the account lockout: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_lte?: components["parameters"]["UserFilterLockedUntilLte"];
                /**
                 * @description End of the account lockout: has no value
                 * @example true
                 */
                locked_until_isnull?: components["parameters"]["UserFilterLockedUntilIsnull"];
                /**
                 * @description Up to 5 words, each found in one of name, e-mail, first name, last name, job title, department; words of 1 or 2 characters match beginnings
                 * @example ada
                 */
                q?: components["parameters"]["UserFilterQ"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The link */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExportLinkResponse"];
                };
            };
        };
    };
    downloadExport: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Token of the link
                 * @example Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                token: components["parameters"]["TokenPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file */
            200: {
                headers: {
                    /** @description Name of the file */
                    "Content-Disposition"?: string;
                    /** @description Value of `after` for `GET /change/list`, taken before the first user was read */
                    "Changes-Cursor"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                    "application/x-ndjson": string;
                };
            };
        };
    };
    importUsers: {
        parameters: {
            query?: {
                /**
                 * @description `true`: checks all rows and their conflicts with users, but creates no users; recorded in the audit log
                 * @example true
                 */
                dry_run?: boolean;
                /**
                 * @description Outcome of a row whose name, e-mail address or id is taken
                 * @example fail
                 */
                on_conflict?: components["schemas"]["ConflictRule"];
                /**
                 * @description `true`: invites each new user without a password by mail
                 * @example true
                 */
                invite?: boolean;
            };
            header?: {
                /**
                 * @description A unique text of your choice, such as a UUID. A repeated request with the same key within 24 hours is not carried out again but gets the first response. A different query or body is rejected with 422. A repeated request while the first is still running is rejected with 409. Responses with 401, 429 or 5xx and dry runs are not stored. A user and the API keys that they created can send 50,000 requests with a key in 24 hours. A response of more than 2 KiB counts as several requests, one for each 2 KiB.
                 * @example 5f0c1a52-3b1e-4c37-9b8e-0d6f2a7c4e19
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description One user per row */
        requestBody: {
            content: {
                /**
                 * @example user_type,carrier_id,name,email,first_name,last_name
                 *     carrier,acme,grace,grace@example.com,Grace,Hopper
                 */
                "text/csv": string;
                /** @example {"user_type":"carrier","carrier_id":"acme","name":"joan","email":"joan@example.com","roles":["carrier_user"]} */
                "application/x-ndjson": string;
            };
        };
        responses: {
            /** @description The operation, which has ended, or with `dry_run` the result that the import would have */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportResponse"];
                };
            };
            /** @description The operation, which continues in the background */
            202: {
                headers: {
                    /** @description Path of the operation */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportResponse"];
                };
            };
        };
    };
    listSkippedRows: {
        parameters: {
            query?: {
                /**
                 * @description Sort field; nulls last, the id breaks ties
                 * @example line
                 */
                order_by?: "line";
                /**
                 * @description Direction of the sort
                 * @example desc
                 */
                order_dir?: components["parameters"]["OrderDir"];
                /**
                 * @description Rows per page
                 * @example 50
                 */
                per_page?: components["parameters"]["PerPage"];
                /**
                 * @description Number of the page, from 1. `page` × `per_page` is at most 100,000. Cannot be combined with `cursor`
                 * @example 1
                 */
                page?: components["parameters"]["Page"];
                /**
                 * @description `next_cursor` of the previous page; valid for the same caller, filter and sort
                 * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
                 */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description `estimated` counts up to 10,000 rows and estimates larger totals; `exact` counts all rows; `none` leaves `total` null
                 * @example estimated
                 */
                count?: components["parameters"]["Count"];
            };
            header?: never;
            path: {
                /**
                 * @description Id of the operation, a UUID. Other text returns 404.
                 * @example 0192f0c3-9e21-7a54-b1d7-4c5b6a798897
                 */
                operation_id: components["parameters"]["OperationIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the rows, or with `Accept: text/csv` the file */
            200: {
                headers: {
                    /** @description Name of the file */
                    "Content-Disposition"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SkippedRowListResponse"];
                    "text/csv": string;
                };
            };
        };
    };
    createUser: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A unique text of your choice, such as a UUID. A repeated request with the same key within 24 hours is not carried out again but gets the first response. A different query or body is rejected with 422. A repeated request while the first is still running is rejected with 409. Responses with 401, 429 or 5xx and dry runs are not stored. A user and the API keys that they created can send 50,000 requests with a key in 24 hours. A response of more than 2 KiB counts as several requests, one for each 2 KiB.
                 * @example 5f0c1a52-3b1e-4c37-9b8e-0d6f2a7c4e19
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "user_type": "carrier",
                 *       "name": "ada",
                 *       "email": "ada@example.com",
                 *       "carrier_id": "acme"
                 *     }
                 */
                "application/json": components["schemas"]["CreateUserRequest"];
            };
        };
        responses: {
            /** @description The user */
            201: {
                headers: {
                    /** @description `version`, for `If-Match` */
                    ETag?: string;
                    /** @description Path of the user */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserResponse"];
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /**
                 * @description `true`: lists deleted users only. With `user:read`, an item has only `user_id`, `user_type`, `carrier_id`, `created_at`, `deleted_at`, `version`, and only these filter and sort. With `user:read_deleted`, it has all fields
                 * @example true
                 */
                deleted?: "true";
                /**
                 * @description Sort field; nulls last, the id breaks ties
                 * @example created_at
                 */
                order_by?: components["schemas"]["UserSort"];
                /**
                 * @description Direction of the sort
                 * @example desc
                 */
                order_dir?: components["parameters"]["OrderDir"];
                /**
                 * @description Rows per page
                 * @example 50
                 */
                per_page?: components["parameters"]["PerPage"];
                /**
                 * @description Number of the page, from 1. `page` × `per_page` is at most 100,000. Cannot be combined with `cursor`
                 * @example 1
                 */
                page?: components["parameters"]["Page"];
                /**
                 * @description `next_cursor` of the previous page; valid for the same caller, filter and sort
                 * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
                 */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description `estimated` counts up to 10,000 rows and estimates larger totals; `exact` counts all rows; `none` leaves `total` null
                 * @example estimated
                 */
                count?: components["parameters"]["Count"];
                /**
                 * @description Id: equals
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id?: components["parameters"]["UserFilterUserId"];
                /**
                 * @description Id: does not equal; matches null too
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id_ne?: components["parameters"]["UserFilterUserIdNe"];
                /**
                 * @description Id: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e"
                 *     ]
                 */
                user_id_in?: components["parameters"]["UserFilterUserIdIn"];
                /**
                 * @description Kind of user: equals
                 * @example carrier
                 */
                user_type?: components["parameters"]["UserFilterUserType"];
                /**
                 * @description Kind of user: does not equal; matches null too
                 * @example carrier
                 */
                user_type_ne?: components["parameters"]["UserFilterUserTypeNe"];
                /**
                 * @description Kind of user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "carrier"
                 *     ]
                 */
                user_type_in?: components["parameters"]["UserFilterUserTypeIn"];
                /**
                 * @description State: equals
                 * @example active
                 */
                status?: components["parameters"]["UserFilterStatus"];
                /**
                 * @description State: does not equal; matches null too
                 * @example active
                 */
                status_ne?: components["parameters"]["UserFilterStatusNe"];
                /**
                 * @description State: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "active"
                 *     ]
                 */
                status_in?: components["parameters"]["UserFilterStatusIn"];
                /**
                 * @description Login name, without regard to case: equals
                 * @example ada
                 */
                name?: components["parameters"]["UserFilterName"];
                /**
                 * @description Login name, without regard to case: does not equal; matches null too
                 * @example ada
                 */
                name_ne?: components["parameters"]["UserFilterNameNe"];
                /**
                 * @description Login name, without regard to case: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "ada"
                 *     ]
                 */
                name_in?: components["parameters"]["UserFilterNameIn"];
                /**
                 * @description Login name, without regard to case: contains, ignoring case; at least 3 characters
                 * @example ada
                 */
                name_like?: components["parameters"]["UserFilterNameLike"];
                /**
                 * @description E-mail address, without regard to case: equals
                 * @example ada@example.com
                 */
                email?: components["parameters"]["UserFilterEmail"];
                /**
                 * @description E-mail address, without regard to case: does not equal; matches null too
                 * @example ada@example.com
                 */
                email_ne?: components["parameters"]["UserFilterEmailNe"];
                /**
                 * @description E-mail address, without regard to case: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "ada@example.com"
                 *     ]
                 */
                email_in?: components["parameters"]["UserFilterEmailIn"];
                /**
                 * @description E-mail address, without regard to case: contains, ignoring case; at least 3 characters
                 * @example ada@example.com
                 */
                email_like?: components["parameters"]["UserFilterEmailLike"];
                /**
                 * @description First name: equals
                 * @example Ada
                 */
                first_name?: components["parameters"]["UserFilterFirstName"];
                /**
                 * @description First name: does not equal; matches null too
                 * @example Ada
                 */
                first_name_ne?: components["parameters"]["UserFilterFirstNameNe"];
                /**
                 * @description First name: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Ada"
                 *     ]
                 */
                first_name_in?: components["parameters"]["UserFilterFirstNameIn"];
                /**
                 * @description First name: contains, ignoring case; at least 3 characters
                 * @example Ada
                 */
                first_name_like?: components["parameters"]["UserFilterFirstNameLike"];
                /**
                 * @description Last name: equals
                 * @example Lovelace
                 */
                last_name?: components["parameters"]["UserFilterLastName"];
                /**
                 * @description Last name: does not equal; matches null too
                 * @example Lovelace
                 */
                last_name_ne?: components["parameters"]["UserFilterLastNameNe"];
                /**
                 * @description Last name: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Lovelace"
                 *     ]
                 */
                last_name_in?: components["parameters"]["UserFilterLastNameIn"];
                /**
                 * @description Last name: contains, ignoring case; at least 3 characters
                 * @example Lovelace
                 */
                last_name_like?: components["parameters"]["UserFilterLastNameLike"];
                /**
                 * @description Phone number: equals
                 * @example +4312345678
                 */
                phone?: components["parameters"]["UserFilterPhone"];
                /**
                 * @description Phone number: does not equal; matches null too
                 * @example +4312345678
                 */
                phone_ne?: components["parameters"]["UserFilterPhoneNe"];
                /**
                 * @description Phone number: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "+4312345678"
                 *     ]
                 */
                phone_in?: components["parameters"]["UserFilterPhoneIn"];
                /**
                 * @description Phone number: has no value
                 * @example true
                 */
                phone_isnull?: components["parameters"]["UserFilterPhoneIsnull"];
                /**
                 * @description Phone number: contains, ignoring case; at least 3 characters
                 * @example +4312345678
                 */
                phone_like?: components["parameters"]["UserFilterPhoneLike"];
                /**
                 * @description Job title: equals
                 * @example Head of Operations
                 */
                job_title?: components["parameters"]["UserFilterJobTitle"];
                /**
                 * @description Job title: does not equal; matches null too
                 * @example Head of Operations
                 */
                job_title_ne?: components["parameters"]["UserFilterJobTitleNe"];
                /**
                 * @description Job title: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Head of Operations"
                 *     ]
                 */
                job_title_in?: components["parameters"]["UserFilterJobTitleIn"];
                /**
                 * @description Job title: has no value
                 * @example true
                 */
                job_title_isnull?: components["parameters"]["UserFilterJobTitleIsnull"];
                /**
                 * @description Job title: contains, ignoring case; at least 3 characters
                 * @example Head of Operations
                 */
                job_title_like?: components["parameters"]["UserFilterJobTitleLike"];
                /**
                 * @description Department: equals
                 * @example Dispatch
                 */
                department?: components["parameters"]["UserFilterDepartment"];
                /**
                 * @description Department: does not equal; matches null too
                 * @example Dispatch
                 */
                department_ne?: components["parameters"]["UserFilterDepartmentNe"];
                /**
                 * @description Department: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Dispatch"
                 *     ]
                 */
                department_in?: components["parameters"]["UserFilterDepartmentIn"];
                /**
                 * @description Department: has no value
                 * @example true
                 */
                department_isnull?: components["parameters"]["UserFilterDepartmentIsnull"];
                /**
                 * @description Department: contains, ignoring case; at least 3 characters
                 * @example Dispatch
                 */
                department_like?: components["parameters"]["UserFilterDepartmentLike"];
                /**
                 * @description Language: equals
                 * @example en-GB
                 */
                locale?: components["parameters"]["UserFilterLocale"];
                /**
                 * @description Language: does not equal; matches null too
                 * @example en-GB
                 */
                locale_ne?: components["parameters"]["UserFilterLocaleNe"];
                /**
                 * @description Language: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "en-GB"
                 *     ]
                 */
                locale_in?: components["parameters"]["UserFilterLocaleIn"];
                /**
                 * @description Language: has no value
                 * @example true
                 */
                locale_isnull?: components["parameters"]["UserFilterLocaleIsnull"];
                /**
                 * @description Language: contains, ignoring case; at least 3 characters
                 * @example en-GB
                 */
                locale_like?: components["parameters"]["UserFilterLocaleLike"];
                /**
                 * @description Time zone: equals
                 * @example Europe/Vienna
                 */
                timezone?: components["parameters"]["UserFilterTimezone"];
                /**
                 * @description Time zone: does not equal; matches null too
                 * @example Europe/Vienna
                 */
                timezone_ne?: components["parameters"]["UserFilterTimezoneNe"];
                /**
                 * @description Time zone: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "Europe/Vienna"
                 *     ]
                 */
                timezone_in?: components["parameters"]["UserFilterTimezoneIn"];
                /**
                 * @description Time zone: has no value
                 * @example true
                 */
                timezone_isnull?: components["parameters"]["UserFilterTimezoneIsnull"];
                /**
                 * @description Time zone: contains, ignoring case; at least 3 characters
                 * @example Europe/Vienna
                 */
                timezone_like?: components["parameters"]["UserFilterTimezoneLike"];
                /**
                 * @description Carrier: equals
                 * @example acme
                 */
                carrier_id?: components["parameters"]["UserFilterCarrierId"];
                /**
                 * @description Carrier: does not equal; matches null too
                 * @example acme
                 */
                carrier_id_ne?: components["parameters"]["UserFilterCarrierIdNe"];
                /**
                 * @description Carrier: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "acme"
                 *     ]
                 */
                carrier_id_in?: components["parameters"]["UserFilterCarrierIdIn"];
                /**
                 * @description Carrier: has no value
                 * @example true
                 */
                carrier_id_isnull?: components["parameters"]["UserFilterCarrierIdIsnull"];
                /**
                 * @description Carrier: contains, ignoring case; at least 3 characters
                 * @example acme
                 */
                carrier_id_like?: components["parameters"]["UserFilterCarrierIdLike"];
                /**
                 * @description A role that the user has: equals
                 * @example carrier_user
                 */
                role?: components["parameters"]["UserFilterRole"];
                /**
                 * @description A role that the user has: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "carrier_user"
                 *     ]
                 */
                role_in?: components["parameters"]["UserFilterRoleIn"];
                /**
                 * @description Seen within 5 minutes in a session that has not ended: equals
                 * @example true
                 */
                online?: components["parameters"]["UserFilterOnline"];
                /**
                 * @description Seen within 5 minutes in a session that has not ended: does not equal; matches null too
                 * @example true
                 */
                online_ne?: components["parameters"]["UserFilterOnlineNe"];
                /**
                 * @description Seen within 5 minutes in a session that has not ended: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                online_in?: components["parameters"]["UserFilterOnlineIn"];
                /**
                 * @description Address of the last login (address or CIDR): equals
                 * @example 203.0.113.7
                 */
                last_login_ip?: components["parameters"]["UserFilterLastLoginIp"];
                /**
                 * @description Address of the last login (address or CIDR): does not equal; matches null too
                 * @example 203.0.113.7
                 */
                last_login_ip_ne?: components["parameters"]["UserFilterLastLoginIpNe"];
                /**
                 * @description Address of the last login (address or CIDR): is one of up to 500 different values, separated by commas
                 * @example [
                 *       "203.0.113.7"
                 *     ]
                 */
                last_login_ip_in?: components["parameters"]["UserFilterLastLoginIpIn"];
                /**
                 * @description Address of the last login (address or CIDR): has no value
                 * @example true
                 */
                last_login_ip_isnull?: components["parameters"]["UserFilterLastLoginIpIsnull"];
                /**
                 * @description Must change the password before any other request: equals
                 * @example false
                 */
                must_change_password?: components["parameters"]["UserFilterMustChangePassword"];
                /**
                 * @description Must change the password before any other request: does not equal; matches null too
                 * @example false
                 */
                must_change_password_ne?: components["parameters"]["UserFilterMustChangePasswordNe"];
                /**
                 * @description Must change the password before any other request: is one of up to 500 different values, separated by commas
                 * @example [
                 *       false
                 *     ]
                 */
                must_change_password_in?: components["parameters"]["UserFilterMustChangePasswordIn"];
                /**
                 * @description Has a confirmed second factor: equals
                 * @example true
                 */
                has_second_factor?: components["parameters"]["UserFilterHasSecondFactor"];
                /**
                 * @description Has a confirmed second factor: does not equal; matches null too
                 * @example true
                 */
                has_second_factor_ne?: components["parameters"]["UserFilterHasSecondFactorNe"];
                /**
                 * @description Has a confirmed second factor: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                has_second_factor_in?: components["parameters"]["UserFilterHasSecondFactorIn"];
                /**
                 * @description Has no second factor although one is required now: equals
                 * @example true
                 */
                must_enroll_second_factor?: components["parameters"]["UserFilterMustEnrollSecondFactor"];
                /**
                 * @description Has no second factor although one is required now: does not equal; matches null too
                 * @example true
                 */
                must_enroll_second_factor_ne?: components["parameters"]["UserFilterMustEnrollSecondFactorNe"];
                /**
                 * @description Has no second factor although one is required now: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                must_enroll_second_factor_in?: components["parameters"]["UserFilterMustEnrollSecondFactorIn"];
                /**
                 * @description When the user was created: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at?: components["parameters"]["UserFilterCreatedAt"];
                /**
                 * @description When the user was created: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_ne?: components["parameters"]["UserFilterCreatedAtNe"];
                /**
                 * @description When the user was created: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                created_at_in?: components["parameters"]["UserFilterCreatedAtIn"];
                /**
                 * @description When the user was created: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gt?: components["parameters"]["UserFilterCreatedAtGt"];
                /**
                 * @description When the user was created: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gte?: components["parameters"]["UserFilterCreatedAtGte"];
                /**
                 * @description When the user was created: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lt?: components["parameters"]["UserFilterCreatedAtLt"];
                /**
                 * @description When the user was created: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lte?: components["parameters"]["UserFilterCreatedAtLte"];
                /**
                 * @description When a field was last changed: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at?: components["parameters"]["UserFilterUpdatedAt"];
                /**
                 * @description When a field was last changed: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_ne?: components["parameters"]["UserFilterUpdatedAtNe"];
                /**
                 * @description When a field was last changed: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                updated_at_in?: components["parameters"]["UserFilterUpdatedAtIn"];
                /**
                 * @description When a field was last changed: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_gt?: components["parameters"]["UserFilterUpdatedAtGt"];
                /**
                 * @description When a field was last changed: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_gte?: components["parameters"]["UserFilterUpdatedAtGte"];
                /**
                 * @description When a field was last changed: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_lt?: components["parameters"]["UserFilterUpdatedAtLt"];
                /**
                 * @description When a field was last changed: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                updated_at_lte?: components["parameters"]["UserFilterUpdatedAtLte"];
                /**
                 * @description Last login: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at?: components["parameters"]["UserFilterLastLoginAt"];
                /**
                 * @description Last login: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_ne?: components["parameters"]["UserFilterLastLoginAtNe"];
                /**
                 * @description Last login: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                last_login_at_in?: components["parameters"]["UserFilterLastLoginAtIn"];
                /**
                 * @description Last login: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_gt?: components["parameters"]["UserFilterLastLoginAtGt"];
                /**
                 * @description Last login: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_gte?: components["parameters"]["UserFilterLastLoginAtGte"];
                /**
                 * @description Last login: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_lt?: components["parameters"]["UserFilterLastLoginAtLt"];
                /**
                 * @description Last login: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_login_at_lte?: components["parameters"]["UserFilterLastLoginAtLte"];
                /**
                 * @description Last login: has no value
                 * @example true
                 */
                last_login_at_isnull?: components["parameters"]["UserFilterLastLoginAtIsnull"];
                /**
                 * @description Last activity: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at?: components["parameters"]["UserFilterLastSeenAt"];
                /**
                 * @description Last activity: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_ne?: components["parameters"]["UserFilterLastSeenAtNe"];
                /**
                 * @description Last activity: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                last_seen_at_in?: components["parameters"]["UserFilterLastSeenAtIn"];
                /**
                 * @description Last activity: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_gt?: components["parameters"]["UserFilterLastSeenAtGt"];
                /**
                 * @description Last activity: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_gte?: components["parameters"]["UserFilterLastSeenAtGte"];
                /**
                 * @description Last activity: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_lt?: components["parameters"]["UserFilterLastSeenAtLt"];
                /**
                 * @description Last activity: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                last_seen_at_lte?: components["parameters"]["UserFilterLastSeenAtLte"];
                /**
                 * @description Last activity: has no value
                 * @example true
                 */
                last_seen_at_isnull?: components["parameters"]["UserFilterLastSeenAtIsnull"];
                /**
                 * @description When the password was last set: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at?: components["parameters"]["UserFilterPasswordChangedAt"];
                /**
                 * @description When the password was last set: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_ne?: components["parameters"]["UserFilterPasswordChangedAtNe"];
                /**
                 * @description When the password was last set: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                password_changed_at_in?: components["parameters"]["UserFilterPasswordChangedAtIn"];
                /**
                 * @description When the password was last set: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_gt?: components["parameters"]["UserFilterPasswordChangedAtGt"];
                /**
                 * @description When the password was last set: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_gte?: components["parameters"]["UserFilterPasswordChangedAtGte"];
                /**
                 * @description When the password was last set: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_lt?: components["parameters"]["UserFilterPasswordChangedAtLt"];
                /**
                 * @description When the password was last set: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                password_changed_at_lte?: components["parameters"]["UserFilterPasswordChangedAtLte"];
                /**
                 * @description When the password was last set: has no value
                 * @example true
                 */
                password_changed_at_isnull?: components["parameters"]["UserFilterPasswordChangedAtIsnull"];
                /**
                 * @description End of the account lockout: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until?: components["parameters"]["UserFilterLockedUntil"];
                /**
                 * @description End of the account lockout: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_ne?: components["parameters"]["UserFilterLockedUntilNe"];
                /**
                 * @description End of the account lockout: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                locked_until_in?: components["parameters"]["UserFilterLockedUntilIn"];
                /**
                 * @description End of the account lockout: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_gt?: components["parameters"]["UserFilterLockedUntilGt"];
                /**
                 * @description End of the account lockout: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_gte?: components["parameters"]["UserFilterLockedUntilGte"];
                /**
                 * @description End of the account lockout: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_lt?: components["parameters"]["UserFilterLockedUntilLt"];
                /**
                 * @description End of the account lockout: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                locked_until_lte?: components["parameters"]["UserFilterLockedUntilLte"];
                /**
                 * @description End of the account lockout: has no value
                 * @example true
                 */
                locked_until_isnull?: components["parameters"]["UserFilterLockedUntilIsnull"];
                /**
                 * @description When the user was deleted (with `deleted=true`): equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                deleted_at?: string;
                /**
                 * @description When the user was deleted (with `deleted=true`): does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                deleted_at_ne?: string;
                /**
                 * @description When the user was deleted (with `deleted=true`): is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                deleted_at_in?: string[];
                /**
                 * @description When the user was deleted (with `deleted=true`): is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                deleted_at_gt?: string;
                /**
                 * @description When the user was deleted (with `deleted=true`): is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                deleted_at_gte?: string;
                /**
                 * @description When the user was deleted (with `deleted=true`): is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                deleted_at_lt?: string;
                /**
                 * @description When the user was deleted (with `deleted=true`): is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                deleted_at_lte?: string;
                /**
                 * @description Up to 5 words, each found in one of name, e-mail, first name, last name, job title, department; words of 1 or 2 characters match beginnings
                 * @example ada
                 */
                q?: components["parameters"]["UserFilterQ"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of users */
            200: {
                headers: {
                    /** @description Value of `after` for `GET /change/list`, taken before the first user was read */
                    "Changes-Cursor"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserListResponse"];
                };
            };
        };
    };
    getUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the user, a UUID. Other text returns 404.
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id: components["parameters"]["UserIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user */
            200: {
                headers: {
                    /** @description `version`, for `If-Match` */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserResponse"];
                };
            };
        };
    };
    deleteUser: {
        parameters: {
            query?: {
                /**
                 * @description `true`: deletes the user for good, even if already deleted; needs `user:purge`
                 * @example false
                 */
                purge?: boolean;
            };
            header?: {
                /**
                 * @description `ETag` of the version that the caller expects. Fails with 412 if the current version differs
                 * @example "3"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /**
                 * @description Id of the user, a UUID. Other text returns 404.
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id: components["parameters"]["UserIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user is deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    changeUser: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description `ETag` of the version that the caller expects. Fails with 412 if the current version differs
                 * @example "3"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /**
                 * @description Id of the user, a UUID. Other text returns 404.
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id: components["parameters"]["UserIdPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "first_name": "Ada"
                 *     }
                 */
                "application/json": components["schemas"]["ChangeUserRequest"];
            };
        };
        responses: {
            /** @description The user after the change */
            200: {
                headers: {
                    /** @description `version`, for `If-Match` */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserResponse"];
                };
            };
        };
    };
    restoreUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the user, a UUID. Other text returns 404.
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id: components["parameters"]["UserIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user */
            200: {
                headers: {
                    /** @description `version`, for `If-Match` */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserResponse"];
                };
            };
        };
    };
    inviteUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the user, a UUID. Other text returns 404.
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id: components["parameters"]["UserIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The invitation is on its way, or delayed if the address already got 3 in the last hour */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listCarriers: {
        parameters: {
            query?: {
                /**
                 * @description Sort field; nulls last, the id breaks ties
                 * @example carrier_id
                 */
                order_by?: components["schemas"]["CarrierSort"];
                /**
                 * @description Direction of the sort
                 * @example desc
                 */
                order_dir?: components["parameters"]["OrderDir"];
                /**
                 * @description Rows per page
                 * @example 50
                 */
                per_page?: components["parameters"]["PerPage"];
                /**
                 * @description Number of the page, from 1. `page` × `per_page` is at most 100,000. Cannot be combined with `cursor`
                 * @example 1
                 */
                page?: components["parameters"]["Page"];
                /**
                 * @description `next_cursor` of the previous page; valid for the same caller, filter and sort
                 * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
                 */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description `estimated` counts up to 10,000 rows and estimates larger totals; `exact` counts all rows; `none` leaves `total` null
                 * @example estimated
                 */
                count?: components["parameters"]["Count"];
                /**
                 * @description Id of the carrier: equals
                 * @example acme
                 */
                carrier_id?: string;
                /**
                 * @description Id of the carrier: does not equal; matches null too
                 * @example acme
                 */
                carrier_id_ne?: string;
                /**
                 * @description Id of the carrier: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "acme"
                 *     ]
                 */
                carrier_id_in?: string[];
                /**
                 * @description Id of the carrier: contains, ignoring case; at least 3 characters
                 * @example acme
                 */
                carrier_id_like?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of carriers */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CarrierListResponse"];
                };
            };
        };
    };
    login: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description API key of a portal, with `login:forward`. For users within the scope of the key, limits and rules for addresses apply to `X-User-Address`.
                 * @example cik_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                "X-Api-Key"?: components["parameters"]["XApiKey"];
                /**
                 * @description IP address of the user; required with `X-Api-Key`
                 * @example 203.0.113.7
                 */
                "X-User-Address"?: components["parameters"]["XUserAddress"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "login": "ada",
                 *       "password": "a quiet river under seven bridges"
                 *     }
                 */
                "application/json": components["schemas"]["LoginRequest"];
            };
        };
        responses: {
            /** @description A new session with its tokens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginResponse"];
                };
            };
        };
    };
    checkToken: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description API key of a portal, with `login:forward`. For users within the scope of the key, limits and rules for addresses apply to `X-User-Address`.
                 * @example cik_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                "X-Api-Key"?: components["parameters"]["XApiKey"];
                /**
                 * @description IP address of the user; required with `X-Api-Key`
                 * @example 203.0.113.7
                 */
                "X-User-Address"?: components["parameters"]["XUserAddress"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["CheckTokenRequest"];
            };
        };
        responses: {
            /** @description The token is valid */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckTokenResponse"];
                };
            };
        };
    };
    logout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["LogoutRequest"];
            };
        };
        responses: {
            /** @description The session has ended */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    changePassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "current_password": "a quiet river under seven bridges",
                 *       "new_password": "seven bridges over a quiet river"
                 *     }
                 */
                "application/json": components["schemas"]["ChangePasswordRequest"];
            };
        };
        responses: {
            /** @description The password is changed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getJwks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key set */
            200: {
                headers: {
                    /** @description `public, max-age=300` */
                    "Cache-Control"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JwksResponse"];
                };
            };
        };
    };
    introspectToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "token": "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIwMTkyZjBjMSJ9.c2lnbmF0dXJl"
                 *     }
                 */
                "application/x-www-form-urlencoded": components["schemas"]["IntrospectionRequest"];
            };
        };
        responses: {
            /** @description The state of the token */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IntrospectionResponse"];
                };
            };
        };
    };
    getAuthorizationServer: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metadata */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuthorizationServerResponse"];
                };
            };
        };
    };
    verifyToken: {
        parameters: {
            query?: {
                /**
                 * @description Required permission; repeatable, up to 20 times. Any suffices, unless `all=true`
                 * @example [
                 *       "billing:read"
                 *     ]
                 */
                permission?: string[];
                /**
                 * @description `true`: requires each `permission`
                 * @example false
                 */
                all?: boolean;
                /**
                 * @description Name of the module: the `aud` of an access token must contain it. By default, any audience is accepted. API keys have no audience
                 * @example billing
                 */
                audience?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The token is valid and has the permissions */
            204: {
                headers: {
                    /** @description Id of the user; empty for API keys */
                    "X-Auth-User-Id"?: string;
                    /** @description `system` or `carrier`; empty for API keys */
                    "X-Auth-User-Type"?: string;
                    /** @description Carrier of a Carrier User or of their API key, otherwise empty */
                    "X-Auth-Carrier-Id"?: string;
                    /** @description The permissions of the request that the caller holds, separated by spaces */
                    "X-Auth-Permissions"?: string;
                    /** @description Id of the API key; empty for users */
                    "X-Auth-Client-Id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    reauthenticate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "password": "a quiet river under seven bridges"
                 *     }
                 */
                "application/json": components["schemas"]["ReauthenticateRequest"];
            };
        };
        responses: {
            /** @description A new access token of the session */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReauthenticateResponse"];
                };
            };
        };
    };
    createReauthenticationOptions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The options and their challenge */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyOptionsResponse"];
                };
            };
        };
    };
    completeLogin: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description API key of a portal, with `login:forward`. For users within the scope of the key, limits and rules for addresses apply to `X-User-Address`.
                 * @example cik_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                "X-Api-Key"?: components["parameters"]["XApiKey"];
                /**
                 * @description IP address of the user; required with `X-Api-Key`
                 * @example 203.0.113.7
                 */
                "X-User-Address"?: components["parameters"]["XUserAddress"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "challenge": "Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M",
                 *       "code": "492039"
                 *     }
                 */
                "application/json": components["schemas"]["SecondFactorRequest"];
            };
        };
        responses: {
            /** @description A new session with its tokens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginResponse"];
                };
            };
        };
    };
    createSecondFactorOptions: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description API key of a portal, with `login:forward`. For users within the scope of the key, limits and rules for addresses apply to `X-User-Address`.
                 * @example cik_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                "X-Api-Key"?: components["parameters"]["XApiKey"];
                /**
                 * @description IP address of the user; required with `X-Api-Key`
                 * @example 203.0.113.7
                 */
                "X-User-Address"?: components["parameters"]["XUserAddress"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "challenge": "Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M"
                 *     }
                 */
                "application/json": components["schemas"]["CreateSecondFactorOptionsRequest"];
            };
        };
        responses: {
            /** @description The options and the challenge of the login */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyOptionsResponse"];
                };
            };
        };
    };
    createPasskeyLoginOptions: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description API key of a portal, with `login:forward`. For users within the scope of the key, limits and rules for addresses apply to `X-User-Address`.
                 * @example cik_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                "X-Api-Key"?: components["parameters"]["XApiKey"];
                /**
                 * @description IP address of the user; required with `X-Api-Key`
                 * @example 203.0.113.7
                 */
                "X-User-Address"?: components["parameters"]["XUserAddress"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The options and their challenge */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyOptionsResponse"];
                };
            };
        };
    };
    loginWithPasskey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description API key of a portal, with `login:forward`. For users within the scope of the key, limits and rules for addresses apply to `X-User-Address`.
                 * @example cik_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                "X-Api-Key"?: components["parameters"]["XApiKey"];
                /**
                 * @description IP address of the user; required with `X-Api-Key`
                 * @example 203.0.113.7
                 */
                "X-User-Address"?: components["parameters"]["XUserAddress"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "challenge": "Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M",
                 *       "passkey": {
                 *         "id": "cGFzc2tleQ",
                 *         "rawId": "cGFzc2tleQ",
                 *         "type": "public-key",
                 *         "response": {
                 *           "clientDataJSON": "e30",
                 *           "authenticatorData": "AA",
                 *           "signature": "AA",
                 *           "userHandle": "AA"
                 *         },
                 *         "clientExtensionResults": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["LoginWithPasskeyRequest"];
            };
        };
        responses: {
            /** @description A new session with its tokens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginResponse"];
                };
            };
        };
    };
    getPasskeyOrigins: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The origins */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyOriginsResponse"];
                };
            };
        };
    };
    getCurrentUser: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user, with permissions */
            200: {
                headers: {
                    /** @description `version` of the user, for `If-Match` */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CurrentUserResponse"];
                };
            };
        };
    };
    listOwnFactors: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The factors and the number of recovery codes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FactorListResponse"];
                };
            };
        };
    };
    addTotp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Phone"
                 *     }
                 */
                "application/json": components["schemas"]["AddTotpRequest"];
            };
        };
        responses: {
            /** @description The factor and its secret */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddedTotpResponse"];
                };
            };
        };
    };
    confirmTotp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "factor_id": "0192f0c6-1d2e-7f3a-8b4c-5d6e7f8a9b0c",
                 *       "code": "492039"
                 *     }
                 */
                "application/json": components["schemas"]["ConfirmTotpRequest"];
            };
        };
        responses: {
            /** @description The factor is confirmed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConfirmedFactorResponse"];
                };
            };
        };
    };
    renewRecoveryCodes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The new codes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCodesResponse"];
                };
            };
        };
    };
    removeFactor: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the second factor, a UUID. Other text returns 404.
                 * @example 0192f0c6-1d2e-7f3a-8b4c-5d6e7f8a9b0c
                 */
                factor_id: components["parameters"]["FactorIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The factor is removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    renameFactor: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the second factor, a UUID. Other text returns 404.
                 * @example 0192f0c6-1d2e-7f3a-8b4c-5d6e7f8a9b0c
                 */
                factor_id: components["parameters"]["FactorIdPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Phone"
                 *     }
                 */
                "application/json": components["schemas"]["RenameFactorRequest"];
            };
        };
        responses: {
            /** @description The factor */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FactorResponse"];
                };
            };
        };
    };
    createPasskeyOptions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["CreatePasskeyOptionsRequest"];
            };
        };
        responses: {
            /** @description The options and their challenge */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyOptionsResponse"];
                };
            };
        };
    };
    addPasskey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Laptop",
                 *       "challenge": "Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M",
                 *       "passkey": {
                 *         "id": "cGFzc2tleQ",
                 *         "rawId": "cGFzc2tleQ",
                 *         "type": "public-key",
                 *         "response": {
                 *           "clientDataJSON": "e30",
                 *           "authenticatorData": "AA",
                 *           "signature": "AA",
                 *           "userHandle": "AA"
                 *         },
                 *         "clientExtensionResults": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["AddPasskeyRequest"];
            };
        };
        responses: {
            /** @description The passkey */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddedPasskeyResponse"];
                };
            };
        };
    };
    listUserFactors: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the user, a UUID. Other text returns 404.
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id: components["parameters"]["UserIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The factors and the number of recovery codes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FactorListResponse"];
                };
            };
        };
    };
    resetUserFactors: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the user, a UUID. Other text returns 404.
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id: components["parameters"]["UserIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user has no second factor */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    removeUserFactor: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the user, a UUID. Other text returns 404.
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id: components["parameters"]["UserIdPath"];
                /**
                 * @description Id of the second factor, a UUID. Other text returns 404.
                 * @example 0192f0c6-1d2e-7f3a-8b4c-5d6e7f8a9b0c
                 */
                factor_id: components["parameters"]["FactorIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user does not have this factor */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    checkLogin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the user, a UUID. Other text returns 404.
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id: components["parameters"]["UserIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The causes, with their remedies */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginCheckResponse"];
                };
            };
        };
    };
    unlockUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the user, a UUID. Other text returns 404.
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id: components["parameters"]["UserIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user is not locked */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    secureUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the user, a UUID. Other text returns 404.
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id: components["parameters"]["UserIdPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "factors": "keep"
                 *     }
                 */
                "application/json": components["schemas"]["SecureUserRequest"];
            };
        };
        responses: {
            /** @description The user */
            200: {
                headers: {
                    /** @description `version` of the user */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserResponse"];
                };
            };
        };
    };
    createWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "url": "https://billing.example.net/identity"
                 *     }
                 */
                "application/json": components["schemas"]["CreateWebhookRequest"];
            };
        };
        responses: {
            /** @description The webhook with its secret, which no other response contains */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSecretResponse"];
                };
            };
        };
    };
    listWebhooks: {
        parameters: {
            query?: {
                /**
                 * @description Sort field; nulls last, the id breaks ties
                 * @example created_at
                 */
                order_by?: components["parameters"]["OrderBy"];
                /**
                 * @description Direction of the sort
                 * @example desc
                 */
                order_dir?: components["parameters"]["OrderDir"];
                /**
                 * @description Rows per page
                 * @example 50
                 */
                per_page?: components["parameters"]["PerPage"];
                /**
                 * @description Number of the page, from 1. `page` × `per_page` is at most 100,000. Cannot be combined with `cursor`
                 * @example 1
                 */
                page?: components["parameters"]["Page"];
                /**
                 * @description `next_cursor` of the previous page; valid for the same caller, filter and sort
                 * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
                 */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description `estimated` counts up to 10,000 rows and estimates larger totals; `exact` counts all rows; `none` leaves `total` null
                 * @example estimated
                 */
                count?: components["parameters"]["Count"];
                /**
                 * @description Id of the webhook: equals
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                webhook_id?: string;
                /**
                 * @description Id of the webhook: does not equal; matches null too
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                webhook_id_ne?: string;
                /**
                 * @description Id of the webhook: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2"
                 *     ]
                 */
                webhook_id_in?: string[];
                /**
                 * @description Target: equals
                 * @example https://identity.example.net/user/export/Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                url?: string;
                /**
                 * @description Target: does not equal; matches null too
                 * @example https://identity.example.net/user/export/Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                url_ne?: string;
                /**
                 * @description Target: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "https://identity.example.net/user/export/Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M"
                 *     ]
                 */
                url_in?: string[];
                /**
                 * @description Target: contains, ignoring case; at least 3 characters
                 * @example https://identity.example.net/user/export/Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                url_like?: string;
                /**
                 * @description State: equals
                 * @example active
                 */
                state?: components["schemas"]["WebhookState"];
                /**
                 * @description State: does not equal; matches null too
                 * @example active
                 */
                state_ne?: components["schemas"]["WebhookState"];
                /**
                 * @description State: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "active"
                 *     ]
                 */
                state_in?: components["schemas"]["WebhookState"][];
                /**
                 * @description Why the webhook is disabled; `requested`: by a user: equals
                 * @example requested
                 */
                disabled_reason?: components["schemas"]["WebhookDisabledReason"];
                /**
                 * @description Why the webhook is disabled; `requested`: by a user: does not equal; matches null too
                 * @example requested
                 */
                disabled_reason_ne?: components["schemas"]["WebhookDisabledReason"];
                /**
                 * @description Why the webhook is disabled; `requested`: by a user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "requested"
                 *     ]
                 */
                disabled_reason_in?: components["schemas"]["WebhookDisabledReason"][];
                /**
                 * @description Why the webhook is disabled; `requested`: by a user: has no value
                 * @example true
                 */
                disabled_reason_isnull?: boolean;
                /**
                 * @description Time of creation: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at?: string;
                /**
                 * @description Time of creation: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_ne?: string;
                /**
                 * @description Time of creation: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                created_at_in?: string[];
                /**
                 * @description Time of creation: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gt?: string;
                /**
                 * @description Time of creation: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gte?: string;
                /**
                 * @description Time of creation: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lt?: string;
                /**
                 * @description Time of creation: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lte?: string;
                /**
                 * @description User who created the webhook: equals
                 * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
                 */
                created_by?: string;
                /**
                 * @description User who created the webhook: does not equal; matches null too
                 * @example 0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70
                 */
                created_by_ne?: string;
                /**
                 * @description User who created the webhook: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70"
                 *     ]
                 */
                created_by_in?: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of webhooks */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookListResponse"];
                };
            };
        };
    };
    getWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the webhook, a UUID. Other text returns 404.
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                webhook_id: components["parameters"]["WebhookIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookResponse"];
                };
            };
        };
    };
    deleteWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the webhook, a UUID. Other text returns 404.
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                webhook_id: components["parameters"]["WebhookIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook is deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    changeWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the webhook, a UUID. Other text returns 404.
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                webhook_id: components["parameters"]["WebhookIdPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "url": "https://billing.example.net/identity"
                 *     }
                 */
                "application/json": components["schemas"]["ChangeWebhookRequest"];
            };
        };
        responses: {
            /** @description The webhook after the change */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookResponse"];
                };
            };
        };
    };
    testWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the webhook, a UUID. Other text returns 404.
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                webhook_id: components["parameters"]["WebhookIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookResponse"];
                };
            };
        };
    };
    disableWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the webhook, a UUID. Other text returns 404.
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                webhook_id: components["parameters"]["WebhookIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookResponse"];
                };
            };
        };
    };
    enableWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the webhook, a UUID. Other text returns 404.
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                webhook_id: components["parameters"]["WebhookIdPath"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["EnableWebhookRequest"];
            };
        };
        responses: {
            /** @description The webhook */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookResponse"];
                };
            };
        };
    };
    replayWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the webhook, a UUID. Other text returns 404.
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                webhook_id: components["parameters"]["WebhookIdPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "after": "2026-11-20T13:00:00Z"
                 *     }
                 */
                "application/json": components["schemas"]["ReplayWebhookRequest"];
            };
        };
        responses: {
            /** @description The webhook */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookResponse"];
                };
            };
        };
    };
    skipWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the webhook, a UUID. Other text returns 404.
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                webhook_id: components["parameters"]["WebhookIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookResponse"];
                };
            };
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the webhook, a UUID. Other text returns 404.
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                webhook_id: components["parameters"]["WebhookIdPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "keep_old_seconds": 86400
                 *     }
                 */
                "application/json": components["schemas"]["RotateWebhookSecretRequest"];
            };
        };
        responses: {
            /** @description The webhook with the new secret */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSecretResponse"];
                };
            };
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                /**
                 * @description Sort field; nulls last, the id breaks ties
                 * @example created_at
                 */
                order_by?: components["parameters"]["OrderBy"];
                /**
                 * @description Direction of the sort
                 * @example desc
                 */
                order_dir?: components["parameters"]["OrderDir"];
                /**
                 * @description Rows per page
                 * @example 50
                 */
                per_page?: components["parameters"]["PerPage"];
                /**
                 * @description Number of the page, from 1. `page` × `per_page` is at most 100,000. Cannot be combined with `cursor`
                 * @example 1
                 */
                page?: components["parameters"]["Page"];
                /**
                 * @description `next_cursor` of the previous page; valid for the same caller, filter and sort
                 * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
                 */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description `estimated` counts up to 10,000 rows and estimates larger totals; `exact` counts all rows; `none` leaves `total` null
                 * @example estimated
                 */
                count?: components["parameters"]["Count"];
                /**
                 * @description Why the request was sent: equals
                 * @example change
                 */
                kind?: components["schemas"]["WebhookDeliveryKind"];
                /**
                 * @description Why the request was sent: does not equal; matches null too
                 * @example change
                 */
                kind_ne?: components["schemas"]["WebhookDeliveryKind"];
                /**
                 * @description Why the request was sent: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "change"
                 *     ]
                 */
                kind_in?: components["schemas"]["WebhookDeliveryKind"][];
                /**
                 * @description Change that was sent: equals
                 * @example 0192f0c4-2f10-7b6d-8e93-5a4b3c2d1e0f
                 */
                change_id?: string;
                /**
                 * @description Change that was sent: does not equal; matches null too
                 * @example 0192f0c4-2f10-7b6d-8e93-5a4b3c2d1e0f
                 */
                change_id_ne?: string;
                /**
                 * @description Change that was sent: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c4-2f10-7b6d-8e93-5a4b3c2d1e0f"
                 *     ]
                 */
                change_id_in?: string[];
                /**
                 * @description Change that was sent: has no value
                 * @example true
                 */
                change_id_isnull?: boolean;
                /**
                 * @description Type of the change: equals
                 * @example user.changed
                 */
                type?: string;
                /**
                 * @description Type of the change: does not equal; matches null too
                 * @example user.changed
                 */
                type_ne?: string;
                /**
                 * @description Type of the change: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "user.changed"
                 *     ]
                 */
                type_in?: string[];
                /**
                 * @description Type of the change: contains, ignoring case; at least 3 characters
                 * @example user.changed
                 */
                type_like?: string;
                /**
                 * @description Whether the request was sent without a response of 2xx: equals
                 * @example true
                 */
                failed?: boolean;
                /**
                 * @description Whether the request was sent without a response of 2xx: does not equal; matches null too
                 * @example true
                 */
                failed_ne?: boolean;
                /**
                 * @description Whether the request was sent without a response of 2xx: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                failed_in?: boolean[];
                /**
                 * @description Time of the attempt or of its request: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at?: string;
                /**
                 * @description Time of the attempt or of its request: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_ne?: string;
                /**
                 * @description Time of the attempt or of its request: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                created_at_in?: string[];
                /**
                 * @description Time of the attempt or of its request: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gt?: string;
                /**
                 * @description Time of the attempt or of its request: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gte?: string;
                /**
                 * @description Time of the attempt or of its request: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lt?: string;
                /**
                 * @description Time of the attempt or of its request: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lte?: string;
            };
            header?: never;
            path: {
                /**
                 * @description Id of the webhook, a UUID. Other text returns 404.
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                webhook_id: components["parameters"]["WebhookIdPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of deliveries */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryListResponse"];
                };
            };
        };
    };
    retryDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the webhook, a UUID. Other text returns 404.
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2
                 */
                webhook_id: components["parameters"]["WebhookIdPath"];
                /**
                 * @description Id of the delivery, a UUID. Other text returns 404.
                 * @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d3
                 */
                delivery_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookResponse"];
                };
            };
        };
    };
    requestPasswordReset: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description API key of a portal, with `login:forward`. For users within the scope of the key, limits and rules for addresses apply to `X-User-Address`.
                 * @example cik_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                "X-Api-Key"?: components["parameters"]["XApiKey"];
                /**
                 * @description IP address of the user; required with `X-Api-Key`
                 * @example 203.0.113.7
                 */
                "X-User-Address"?: components["parameters"]["XUserAddress"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "ada@example.com"
                 *     }
                 */
                "application/json": components["schemas"]["ResetEmailRequest"];
            };
        };
        responses: {
            /** @description Accepted. If a user has this address, a mail is sent. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedResponse"];
                };
            };
        };
    };
    checkResetLink: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description API key of a portal, with `login:forward`. For users within the scope of the key, limits and rules for addresses apply to `X-User-Address`.
                 * @example cik_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                "X-Api-Key"?: components["parameters"]["XApiKey"];
                /**
                 * @description IP address of the user; required with `X-Api-Key`
                 * @example 203.0.113.7
                 */
                "X-User-Address"?: components["parameters"]["XUserAddress"];
            };
            path: {
                /**
                 * @description Token of the link
                 * @example Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                token: components["parameters"]["TokenPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The link is valid */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResetLinkResponse"];
                };
            };
        };
    };
    resetPassword: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description API key of a portal, with `login:forward`. For users within the scope of the key, limits and rules for addresses apply to `X-User-Address`.
                 * @example cik_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                "X-Api-Key"?: components["parameters"]["XApiKey"];
                /**
                 * @description IP address of the user; required with `X-Api-Key`
                 * @example 203.0.113.7
                 */
                "X-User-Address"?: components["parameters"]["XUserAddress"];
            };
            path: {
                /**
                 * @description Token of the link
                 * @example Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                token: components["parameters"]["TokenPath"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "password": "seven bridges over a quiet river"
                 *     }
                 */
                "application/json": components["schemas"]["ResetRequest"];
            };
        };
        responses: {
            /** @description The password is set */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    changeEmail: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "ada@example.net",
                 *       "current_password": "a quiet river under seven bridges"
                 *     }
                 */
                "application/json": components["schemas"]["ChangeEmailRequest"];
            };
        };
        responses: {
            /** @description Accepted. A mail is sent to the new address. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedResponse"];
                };
            };
        };
    };
    cancelEmail: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No new address is waiting for its confirmation */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    checkEmailLink: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Token of the link
                 * @example Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                token: components["parameters"]["TokenPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The link is valid */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkResponse"];
                };
            };
        };
    };
    confirmEmail: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Token of the link
                 * @example Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M
                 */
                token: components["parameters"]["TokenPath"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The address is confirmed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getOverview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The figures */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OverviewResponse"];
                };
            };
        };
    };
    getAttacks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Networks and users, and the rate of rejected logins */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttacksResponse"];
                };
            };
        };
    };
    getService: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The service */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceResponse"];
                };
            };
        };
    };
    headService: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The service */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getLiveness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process is running */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HealthResponse"];
                };
            };
        };
    };
    headLiveness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process is running */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The service can handle requests */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadinessResponse"];
                };
            };
        };
    };
    headReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The service can handle requests */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listMails: {
        parameters: {
            query?: {
                /**
                 * @description Sort field; nulls last, the id breaks ties
                 * @example created_at
                 */
                order_by?: components["schemas"]["MailSort"];
                /**
                 * @description Direction of the sort
                 * @example desc
                 */
                order_dir?: components["parameters"]["OrderDir"];
                /**
                 * @description Rows per page
                 * @example 50
                 */
                per_page?: components["parameters"]["PerPage"];
                /**
                 * @description Number of the page, from 1. `page` × `per_page` is at most 100,000. Cannot be combined with `cursor`
                 * @example 1
                 */
                page?: components["parameters"]["Page"];
                /**
                 * @description `next_cursor` of the previous page; valid for the same caller, filter and sort
                 * @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v
                 */
                cursor?: components["parameters"]["Cursor"];
                /**
                 * @description `estimated` counts up to 10,000 rows and estimates larger totals; `exact` counts all rows; `none` leaves `total` null
                 * @example estimated
                 */
                count?: components["parameters"]["Count"];
                /**
                 * @description Id of the mail: equals
                 * @example 00000000-0000-8000-8000-00000000002a
                 */
                mail_id?: string;
                /**
                 * @description Id of the mail: does not equal; matches null too
                 * @example 00000000-0000-8000-8000-00000000002a
                 */
                mail_id_ne?: string;
                /**
                 * @description Id of the mail: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "00000000-0000-8000-8000-00000000002a"
                 *     ]
                 */
                mail_id_in?: string[];
                /**
                 * @description Kind of mail: equals
                 * @example invitation
                 */
                kind?: components["schemas"]["MailKind"];
                /**
                 * @description Kind of mail: does not equal; matches null too
                 * @example invitation
                 */
                kind_ne?: components["schemas"]["MailKind"];
                /**
                 * @description Kind of mail: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "invitation"
                 *     ]
                 */
                kind_in?: components["schemas"]["MailKind"][];
                /**
                 * @description State of the mail: equals
                 * @example waiting
                 */
                state?: components["schemas"]["MailState"];
                /**
                 * @description State of the mail: does not equal; matches null too
                 * @example waiting
                 */
                state_ne?: components["schemas"]["MailState"];
                /**
                 * @description State of the mail: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "waiting"
                 *     ]
                 */
                state_in?: components["schemas"]["MailState"][];
                /**
                 * @description Failed at least twice, or got a 5xx response of the mail server: equals
                 * @example true
                 */
                failing?: boolean;
                /**
                 * @description Failed at least twice, or got a 5xx response of the mail server: does not equal; matches null too
                 * @example true
                 */
                failing_ne?: boolean;
                /**
                 * @description Failed at least twice, or got a 5xx response of the mail server: is one of up to 500 different values, separated by commas
                 * @example [
                 *       true
                 *     ]
                 */
                failing_in?: boolean[];
                /**
                 * @description Id of the user who receives the mail: equals
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id?: string;
                /**
                 * @description Id of the user who receives the mail: does not equal; matches null too
                 * @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e
                 */
                user_id_ne?: string;
                /**
                 * @description Id of the user who receives the mail: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e"
                 *     ]
                 */
                user_id_in?: string[];
                /**
                 * @description Carrier of the user: equals
                 * @example acme
                 */
                carrier_id?: string;
                /**
                 * @description Carrier of the user: does not equal; matches null too
                 * @example acme
                 */
                carrier_id_ne?: string;
                /**
                 * @description Carrier of the user: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "acme"
                 *     ]
                 */
                carrier_id_in?: string[];
                /**
                 * @description Carrier of the user: has no value
                 * @example true
                 */
                carrier_id_isnull?: boolean;
                /**
                 * @description Carrier of the user: contains, ignoring case; at least 3 characters
                 * @example acme
                 */
                carrier_id_like?: string;
                /**
                 * @description Address of the recipient: equals
                 * @example ada@example.com
                 */
                recipient?: string;
                /**
                 * @description Address of the recipient: does not equal; matches null too
                 * @example ada@example.com
                 */
                recipient_ne?: string;
                /**
                 * @description Address of the recipient: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "ada@example.com"
                 *     ]
                 */
                recipient_in?: string[];
                /**
                 * @description Address of the recipient: contains, ignoring case; at least 3 characters
                 * @example ada@example.com
                 */
                recipient_like?: string;
                /**
                 * @description When the mail was requested: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at?: string;
                /**
                 * @description When the mail was requested: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_ne?: string;
                /**
                 * @description When the mail was requested: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                created_at_in?: string[];
                /**
                 * @description When the mail was requested: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gt?: string;
                /**
                 * @description When the mail was requested: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_gte?: string;
                /**
                 * @description When the mail was requested: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lt?: string;
                /**
                 * @description When the mail was requested: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                created_at_lte?: string;
                /**
                 * @description Time of the next attempt: equals
                 * @example 2026-11-20T13:00:00.000Z
                 */
                next_attempt_at?: string;
                /**
                 * @description Time of the next attempt: does not equal; matches null too
                 * @example 2026-11-20T13:00:00.000Z
                 */
                next_attempt_at_ne?: string;
                /**
                 * @description Time of the next attempt: is one of up to 500 different values, separated by commas
                 * @example [
                 *       "2026-11-20T13:00:00.000Z"
                 *     ]
                 */
                next_attempt_at_in?: string[];
                /**
                 * @description Time of the next attempt: is after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                next_attempt_at_gt?: string;
                /**
                 * @description Time of the next attempt: is at or after
                 * @example 2026-11-20T13:00:00.000Z
                 */
                next_attempt_at_gte?: string;
                /**
                 * @description Time of the next attempt: is before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                next_attempt_at_lt?: string;
                /**
                 * @description Time of the next attempt: is at or before
                 * @example 2026-11-20T13:00:00.000Z
                 */
                next_attempt_at_lte?: string;
                /**
                 * @description Time of the next attempt: has no value
                 * @example true
                 */
                next_attempt_at_isnull?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of mails */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailListResponse"];
                };
            };
        };
    };
    retryMail: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of the mail, a UUID. Other text returns 404.
                 * @example 00000000-0000-8000-8000-00000000002a
                 */
                mail_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The mail, which is sent in the background */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MailResponse"];
                };
            };
        };
    };
}
