import type { Identity } from '@carrier-identity/client';
import { Option } from 'commander';
import { currentTime } from '../../platform/clock';
import { CommandError } from '../command-error';
import { common, integer, isId, list, only, pageOf, seconds, type ShellCommand } from './command';
import { cell, confirm, fields, note, safe } from './output';
import { findUser } from './users';

const keyColumns = ['name', 'active', 'expires_at', 'last_used_at', 'permissions', 'key_id'] as const;
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
const secondsMax = 604_800;

/** Commands about sessions, operations, API keys and address blocks. */
export const accessCommands: ShellCommand[] = [
  {
    usage: 'session end [session_id]',
    description: 'end one session, or all sessions of a user',
    example: '--user ada',
    options: [new Option('--user <user>', 'end all sessions of this user')],
    run: async ({ identity, options: { user } }, session_id?: string) => {
      if ((session_id === undefined) === (user === undefined))
        throw new CommandError('usage', 'Name a session, or a user with --user.');
      if (session_id !== undefined) {
        await identity.sessions.delete(session_id, { repeatable: true });
        return { json: { session_id }, text: 'The session has ended.' };
      }
      const { user_id, name } = await findUser(identity, user as string);
      const json = await identity.sessions.deleteAll({ user_id }, { repeatable: true });
      return { json, text: `Ended sessions of ${safe(name)}: ${json.ended}` };
    },
  },
  {
    usage: 'operation list',
    description: 'list bulk changes, imports and undos',
    example: '--limit 10',
    options: [common.limit],
    run: ({ identity, options }) => list(identity.operations.list(pageOf(options)), options, operationColumns),
  },
  {
    usage: 'operation show <operation_id>',
    description: 'show an operation and its progress',
    example: '0192f0c3-9e21-7a54-b1d7-4c5b6a798897',
    run: async ({ identity }, operation_id) => {
      const json = await identity.operations.get(operation_id);
      return { json, text: fields(json) };
    },
  },
  {
    usage: 'operation undo <operation_id>',
    description: 'undo an operation for all users who have not changed since',
    example: '0192f0c3-9e21-7a54-b1d7-4c5b6a798897 --yes',
    options: [common.yes],
    run: async ({ identity, options }, operation_id) => {
      const { kind, changed } = await identity.operations.get(operation_id);
      await confirm(`Undo the ${kind} of ${changed} users?`, options.yes);
      const json = await identity.operations.undo(operation_id);
      if (json.finished_at === null) note(`The undo continues in the background: operation show ${json.operation_id}`);
      return { json, text: fields(json) };
    },
  },
  {
    usage: 'key list',
    description: 'list API keys',
    example: '--all',
    options: [new Option('--all', 'also revoked and expired keys'), common.limit],
    run: ({ identity, options }) =>
      list(identity.keys.list({ ...(!options.all && { active: true }), ...pageOf(options) }), options, keyColumns),
  },
  {
    usage: 'key revoke <key>',
    description: 'revoke an API key, by id or name',
    example: 'billing --yes',
    options: [common.yes],
    run: async ({ identity, options }, text) => {
      const { key_id, name } = await findKey(identity, text);
      await confirm(`Revoke the API key ${name} (${key_id})?`, options.yes);
      await identity.keys.delete(key_id, { repeatable: true });
      return { json: { key_id }, text: `The API key ${safe(name)} is revoked.` };
    },
  },
  {
    usage: 'key rotate <key>',
    description: 'replace the secret of an API key, by id or name, and print the new secret',
    example: 'billing --keep-old 3600',
    needsUser: true,
    options: [
      new Option('--keep-old <seconds>', 'how long the old secret keeps working')
        .argParser(integer(0, secondsMax))
        .default(86_400),
    ],
    run: async ({ identity, options }, text) => {
      const { key_id, name } = await findKey(identity, text);
      const json = await identity.keys.rotate(key_id, { keep_old_seconds: options.keepOld });
      note(`New secret of ${name}, shown only now. The old one works until ${cell(json.previous_until)}.`);
      return { json, text: json.key };
    },
  },
  {
    usage: 'address-block add <network>',
    description: 'reject logins and password resets from an IP address or a network',
    example: '203.0.113.0/24 --for 2h --reason "password spraying"',
    options: [
      new Option('--for <duration>', 'how long').argParser(seconds).default(86_400, '24h'),
      new Option('--reason <text>', 'why'),
    ],
    run: async ({ identity, options }, network) => {
      const expires_at = new Date(currentTime().getTime() + options.for * 1_000).toISOString();
      const { reason = null } = options;
      const json = await identity.addressBlocks.create({ network, reason, expires_at });
      return { json, text: `Logins from ${json.network} are rejected until ${cell(json.expires_at)}.` };
    },
  },
  {
    usage: 'address-block list',
    description: 'list address blocks',
    example: '--json',
    options: [common.limit],
    run: ({ identity, options }) => list(identity.addressBlocks.list(pageOf(options)), options, blockColumns),
  },
  {
    usage: 'address-block remove <block>',
    description: 'remove an address block, by id or network',
    example: '203.0.113.0/24',
    run: async ({ identity }, text) => {
      const filter = isId(text) ? { address_block_id: text } : { network: text };
      const { items } = await identity.addressBlocks.list({ ...filter, count: 'none' });
      const block = only(items, 'address_block_id', `address block ${text}`, blockColumns);
      await identity.addressBlocks.delete(block.address_block_id);
      return { json: block, text: `The block of ${block.network} is removed.` };
    },
  },
];

async function findKey(identity: Identity, text: string): Promise<{ key_id: string; name: string }> {
  const filter = isId(text) ? { key_id: text } : { name: text, active: true };
  const { items } = await identity.keys.list({ ...filter, count: 'none' });
  return only(items, 'key_id', `API key ${text}`, keyColumns);
}
