import { RestoreService, type RestoreResult } from '../auth/restore.service';
import { DatabaseServer } from '../platform/database/database-server';
import { withApplication } from './application';

/**
 * Ends everything that a restored database may have brought back, accepts the server, and prints
 * what to repeat. With `--nothing-lost`, only accepts the server.
 */
export async function afterRestore({ nothingLost = false }): Promise<void> {
  await withApplication(async (app) => {
    if (!nothingLost) return console.log(describe(await app.get(RestoreService).finish()));
    await app.get(DatabaseServer).accept(true);
    console.log('The server is accepted. Sessions, links, API keys and cursors of the change feed stay valid.');
  });
}

function describe({ restored_to, sessions, links, keys }: RestoreResult): string {
  const since = restored_to?.toISOString() ?? 'its creation';
  return `The service may start now. A new signing key signs, and all others are revoked.
Ended sessions: ${sessions}. Voided links: ${links}. Suspended API keys: ${keys}.

The last event in this database was recorded at ${since}. The database does not know what happened later.
Compare it with your log, and with the copies and webhook deliveries of your modules, and repeat:
  - users that were disabled, deleted or secured: they can log in again
  - roles and carriers that users lost, and permissions that roles lost: they have them again
  - passwords: users have their old password again. Secure users whose old password is known to others
  - e-mail addresses: users have their old address again, which receives links for new passwords
  - second factors that were removed, and recovery codes that were used: they work again
  - webhooks that were deleted, disabled or moved: they send again, and rotated secrets are the old ones again
  - users, roles, API keys, webhooks, address blocks and imports that were created: they are missing

Then:
  - revoke API keys that were revoked or leaked since, and resume the others: POST /auth/key/{key_id}/resume
  - invite users whose invitation is open again: POST /user/{user_id}/invite
  - let modules end their own sessions. Readers of the change feed make a new copy by themselves
    (410 change.cursor_expired). Modules that keep copies through webhooks must make a new copy now`;
}
