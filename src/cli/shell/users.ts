import type { Identity, User } from '@carrier-identity/client';
import { Option } from 'commander';
import { common, integer, isId, list, only, pageOf, type Options, type ShellCommand } from './command';
import { type Answer, cell, confirm, fields, safe } from './output';

const ifVersion = new Option('--if-version <version>', 'only if the user still has this version').argParser(
  integer(1, Number.MAX_SAFE_INTEGER),
);
const columns = ['name', 'email', 'status', 'user_type', 'carrier_id', 'last_login_at', 'user_id'] as const;
const sessionColumns = ['session_id', 'active', 'last_seen_at', 'ip', 'browser', 'os', 'created_at'] as const;
/** These changes have the same result if they take effect twice. */
const repeatable = { repeatable: true } as const;

/** Commands about users. `<user>` is an id, a login name or an e-mail address. */
export const userCommands: ShellCommand[] = [
  {
    usage: 'user find <text>',
    description: 'find users by name, e-mail address, job title or department',
    example: 'ada --limit 10',
    options: [common.limit],
    run: ({ identity, options }, q) => list(identity.users.list({ q, ...pageOf(options) }), options, columns),
  },
  {
    usage: 'user show <user>',
    description: 'show a user',
    example: 'ada',
    run: async ({ identity }, text) => {
      const user = await findUser(identity, text);
      return { json: user, text: fields(user) };
    },
  },
  {
    usage: 'user login-check <user>',
    description: 'show why a user cannot log in, and what helps',
    example: 'ada@example.com',
    run: async ({ identity }, text) => {
      const user = await findUser(identity, text);
      const check = await identity.users.loginCheck(user.user_id);
      return { json: check, text: describeCheck(user, check) };
    },
  },
  {
    usage: 'user disable <user>',
    description: 'disable a user and end all sessions of the user',
    example: 'ada',
    options: [ifVersion],
    run: ({ identity, options }, text) => setStatus(identity, options, text, 'disabled'),
  },
  {
    usage: 'user enable <user>',
    description: 'enable a disabled user',
    example: 'ada',
    options: [ifVersion],
    run: ({ identity, options }, text) => setStatus(identity, options, text, 'active'),
  },
  {
    usage: 'user unlock <user>',
    description: 'lift the lockouts after wrong passwords and codes',
    example: 'ada',
    needsUser: true,
    run: async ({ identity }, text) => {
      const { user_id, name } = await findUser(identity, text);
      await identity.users.unlock(user_id, repeatable);
      return { json: { user_id }, text: `${safe(name)} is not locked.` };
    },
  },
  {
    usage: 'user secure <user>',
    description: 'take an account from a thief: void the password, end all sessions, mail a link for a new password',
    example: 'ada --factors keep --keys suspend',
    options: [
      new Option('--factors <decision>', 'keep, remove_all, or the ids of the second factors to remove'),
      new Option('--keys <decision>', 'what happens to the API keys of the user').choices(['keep', 'suspend']),
      common.yes,
    ],
    run: async ({ identity, options }, text) => {
      const user = await findUser(identity, text);
      await confirm(`Secure ${user.name} <${user.email}>: void the password and end all sessions?`, options.yes);
      const json = await identity.users.secure(user.user_id, {
        ...(options.factors !== undefined && { factors: factorsOf(options.factors) }),
        ...(options.keys !== undefined && { keys: options.keys }),
      });
      return { json, text: `${safe(json.name)} is secured. All sessions ended, and a mail with a link is on its way.` };
    },
  },
  {
    usage: 'user sessions <user>',
    description: 'list the sessions of a user',
    example: 'ada --all',
    options: [new Option('--all', 'also sessions that have ended'), common.limit],
    run: async ({ identity, options }, text) => {
      const { user_id } = await findUser(identity, text);
      const active = options.all ? {} : { active: true };
      return list(identity.sessions.list({ user_id, ...active, ...pageOf(options) }), options, sessionColumns);
    },
  },
];

/** Gets a user by id, login name or e-mail address. @throws CommandError */
export async function findUser(identity: Identity, text: string): Promise<User> {
  if (isId(text)) return identity.users.get(text);
  const pages = [
    identity.users.list({ name: text, count: 'none' }),
    identity.users.list({ email: text, count: 'none' }),
  ];
  const found = (await Promise.all(pages)).flatMap(({ items }) => items);
  return identity.users.get(only(found, 'user_id', `user ${text}`, columns).user_id);
}

function factorsOf(decision: string): 'keep' | 'remove_all' | string[] {
  return decision === 'keep' || decision === 'remove_all' ? decision : decision.split(',');
}

async function setStatus(
  identity: Identity,
  { ifVersion: ifMatch }: Options,
  text: string,
  status: 'active' | 'disabled',
): Promise<Answer> {
  const { user_id } = await findUser(identity, text);
  const user = await identity.users.update(user_id, { status }, { ...repeatable, ...(ifMatch && { ifMatch }) });
  const effect = status === 'disabled' ? ' All sessions of the user ended.' : '';
  return { json: user, text: `${safe(user.name)} is ${user.status}.${effect}` };
}

type LoginCheck = Awaited<ReturnType<Identity['users']['loginCheck']>>;

function describeCheck({ name }: { name: string }, { can_log_in, causes, recent_refusals = [] }: LoginCheck): string {
  const words = (code: string) => safe(code.replaceAll('_', ' '));
  const described = causes.map(({ code, since, until, by, evidence = {}, remedies, blocks }) => {
    const details = [
      ...(since === undefined ? [] : [`since ${cell(since)}`]),
      ...(until === undefined ? [] : [`until ${cell(until)}`]),
      ...(by === undefined ? [] : [`by ${cell(by.name ?? by.actor_id ?? by.actor_type)}`]),
      ...Object.entries(evidence).map(([key, value]) => `${words(key)} ${cell(value)}`),
      ...(remedies.length === 0 ? [] : [`remedy: ${remedies.map(words).join(', ')}`]),
    ];
    return `- ${[words(code) + (blocks ? '' : ' (does not prevent the login)'), ...details].join('; ')}`;
  });
  const refusals = recent_refusals.map(
    ({ occurred_at, reason, ip }) => `  ${cell(occurred_at)}  ${words(reason)}  ${cell(ip)}`,
  );
  return [
    `${safe(name)} can${can_log_in ? '' : 'not'} log in.`,
    ...described,
    ...(refusals.length === 0 ? [] : ['Rejected logins:', ...refusals]),
  ].join('\n');
}
