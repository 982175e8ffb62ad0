import type { Identity } from '@carrier-identity/client';
import { CommandError } from '../command-error';
import { command, inSeconds, isId, list, only, pageOf, type ShellCommand } from './command';
import { cell, confirm, fields, note, safe } from './output';
import { findUser } from './users';

const keyColumns = ['name', 'active', 'suspended_at', 'expires_at', 'last_used_at', 'permissions', 'key_id'] as const;
const blockColumns = ['network', 'expires_at', 'reason', 'created_at', 'address_block_id'] as const;
const operationColumns = [
  'operation_id',
  'kind',
  'status',
  'matched',
  'changed',
  'skipped_count',
  'created_at',
] as const;
const exampleId = '0192f0c3-9e21-7a54-b1d7-4c5b6a798897';

/** Commands about sessions, operations, API keys and address blocks. */
export const accessCommands: ShellCommand[] = [
  command(
    'session end [session_id]',
    'end a session, or with --user all sessions of a user',
    '--user ada',
    ['user'],
    async ({ identity, options: { user } }, session_id?: string) => {
      if ((session_id === undefined) === (user === undefined))
        throw new CommandError('usage', 'Name a session, or a user with --user.');
      if (user === undefined) {
        await identity.sessions.delete(session_id ?? '', { repeatable: true });
        return { json: { session_id }, text: 'The session has ended.' };
      }
      const { user_id, name } = await findUser(identity, user);
      const json = await identity.sessions.deleteAll({ user_id }, { repeatable: true });
      // The API skips sessions that the caller may not end.
      if (json.ended === 0 && (await identity.sessions.list({ user_id, active: true })).items.length > 0)
        throw new CommandError(
          'denied',
          `No session of ${safe(name)} ended: the user has a role that you may not grant, or the session is your own.`,
        );
      return { json, text: `Ended sessions of ${safe(name)}: ${json.ended}` };
    },
  ),
  command('operation list', 'list operations', '--limit 10', ['limit'], ({ identity, options }) =>
    list(identity.operations.list(pageOf(options)), options, operationColumns),
  ),
  command('operation show <operation_id>', 'show an operation', exampleId, [], async ({ identity }, operation_id) => {
    const json = await identity.operations.get(operation_id);
    return { json, text: fields(json) };
  }),
  command(
    'operation undo <operation_id>',
    'undo an operation for all users who have not changed since',
    `${exampleId} --yes`,
    ['yes'],
    async ({ identity, options }, operation_id) => {
      const { kind, changed } = await identity.operations.get(operation_id);
      await confirm(`Undo the ${kind} of ${changed} users?`, options.yes);
      const json = await identity.operations.undo(operation_id);
      if (json.finished_at === null) note(`The undo continues: operation show ${json.operation_id}`);
      return { json, text: fields(json) };
    },
  ),
  command('key list', 'list API keys', '--all', ['all', 'limit'], ({ identity, options }) =>
    list(identity.keys.list({ ...(!options.all && remaining()), ...pageOf(options) }), options, keyColumns),
  ),
  command('key revoke <key>', 'revoke an API key', 'billing', ['yes'], async ({ identity, options }, text) => {
    const { key_id, name } = await findKey(identity, text);
    await confirm(`Revoke the API key ${name} (${key_id})?`, options.yes);
    await identity.keys.delete(key_id, { repeatable: true });
    return { json: { key_id }, text: `The API key ${safe(name)} is revoked.` };
  }),
  command(
    'key rotate <key>',
    'replace the secret of an API key, and print the new one (not with an API key)',
    'billing --keep-old 1h',
    ['keepOld'],
    async ({ identity, options }, text) => {
      const { key_id, name } = await findKey(identity, text);
      const json = await identity.keys.rotate(key_id, { keep_old_seconds: options.keepOld });
      note(`New secret of ${name}, shown only now. The old one works until ${cell(json.previous_until)}.`);
      return { json, text: json.key };
    },
  ),
  command(
    'address-block add <network>',
    'reject logins and password resets from an IP address or a network',
    '203.0.113.0/24 --for 2h --reason "password spraying"',
    ['for', 'reason'],
    async ({ identity, options }, network) => {
      const expires_at = inSeconds(options.for).toISOString();
      const json = await identity.addressBlocks.create({ network, reason: options.reason ?? null, expires_at });
      return { json, text: `Logins from ${json.network} are rejected until ${cell(json.expires_at)}.` };
    },
  ),
  command('address-block list', 'list address blocks', '--json', ['limit'], ({ identity, options }) =>
    list(identity.addressBlocks.list(pageOf(options)), options, blockColumns),
  ),
  command(
    'address-block remove <block>',
    'remove an address block, by id or network',
    '203.0.113.0/24',
    [],
    async ({ identity }, text) => {
      const filter = isId(text) ? { address_block_id: text } : { network: text };
      const size = text.split('/')[1];
      const found = [];
      // The filter also finds the blocks of smaller networks.
      for await (const block of identity.addressBlocks.list({ ...filter, per_page: 500, count: 'none' }))
        if (size === undefined || block.network.endsWith(`/${size}`)) found.push(block);
      const json = only(found, 'address_block_id', `address block ${text}`, blockColumns);
      await identity.addressBlocks.delete(json.address_block_id);
      return { json, text: `The block of ${json.network} is removed.` };
    },
  ),
];

/** Returns a filter of API keys that have not ended. They may be suspended. */
function remaining(): { revoked_at_isnull: boolean; expires_at_gt: string } {
  return { revoked_at_isnull: true, expires_at_gt: inSeconds(0).toISOString() };
}

async function findKey(identity: Identity, text: string): Promise<{ key_id: string; name: string }> {
  const filter = isId(text) ? { key_id: text } : { name: text, ...remaining() };
  const { items } = await identity.keys.list({ ...filter, count: 'none' });
  return only(items, 'key_id', `API key ${text}`, keyColumns);
}
