import type { Identity, User } from '@carrier-identity/client';
import { command, isId, list, only, pageOf, type Shell, type ShellCommand } from './command';
import { type Answer, confirm, fields, safe, table } from './output';

const columns = ['name', 'email', 'status', 'user_type', 'carrier_id', 'last_login_at', 'user_id'] as const;
const sessionColumns = ['session_id', 'active', 'last_seen_at', 'ip', 'browser', 'os', 'created_at'] as const;
const causeColumns = ['code', 'blocks', 'since', 'until', 'remedies', 'evidence'] as const;

/** Commands about users. `<user>` is an id, a login name or an e-mail address. */
export const userCommands: ShellCommand[] = [
  command('user find <text>', 'find users', 'ada --limit 10', ['limit'], ({ identity, options }, q) =>
    list(identity.users.list({ q, ...pageOf(options) }), options, columns),
  ),
  command('user show <user>', 'show a user', 'ada', [], async ({ identity }, text) => {
    const json = await findUser(identity, text);
    return { json, text: fields(json) };
  }),
  command('user login-check <user>', 'show why a user cannot log in', 'ada', [], async ({ identity }, text) => {
    const { user_id, name } = await findUser(identity, text);
    const json = await identity.users.loginCheck(user_id);
    const { can_log_in, causes, recent_refusals = [] } = json;
    const lines = [`${safe(name)} can${can_log_in ? '' : 'not'} log in.`];
    if (causes.length > 0) lines.push('', table(causes, causeColumns));
    if (recent_refusals.length > 0) lines.push('', table(recent_refusals, ['occurred_at', 'reason', 'ip']));
    return { json, text: lines.join('\n') };
  }),
  command('user disable <user>', 'disable a user and end the sessions', 'ada', ['ifVersion'], (shell, text) =>
    setStatus(shell, text, 'disabled'),
  ),
  command('user enable <user>', 'enable a disabled user', 'ada', ['ifVersion'], (shell, text) =>
    setStatus(shell, text, 'active'),
  ),
  command('user unlock <user>', 'lift lockouts (not with an API key)', 'ada', [], async ({ identity }, text) => {
    const { user_id, name } = await findUser(identity, text);
    await identity.users.unlock(user_id, { repeatable: true });
    return { json: { user_id }, text: `${safe(name)} is not locked.` };
  }),
  command(
    'user secure <user>',
    'secure an account that others may use: void the password, end all sessions, mail a link for a new password',
    'ada --factors keep --keys suspend',
    ['factors', 'keys', 'yes'],
    async ({ identity, options: { factors, keys, yes } }, text) => {
      const { user_id, name, email } = await findUser(identity, text);
      await confirm(`Secure ${name} <${email}>: void the password and end all sessions?`, yes);
      const json = await identity.users.secure(user_id, {
        ...(factors !== undefined && { factors: factorsOf(factors) }),
        ...(keys !== undefined && { keys }),
      });
      return { json, text: `${safe(name)} is secured. All sessions ended, and a mail with a link is on its way.` };
    },
  ),
  command(
    'user sessions <user>',
    'list the sessions of a user',
    'ada --all',
    ['all', 'limit'],
    async ({ identity, options }, text) => {
      const { user_id } = await findUser(identity, text);
      const active = options.all ? {} : { active: true };
      return list(identity.sessions.list({ user_id, ...active, ...pageOf(options) }), options, sessionColumns);
    },
  ),
];

/** Gets a user by id, login name or e-mail address. @throws CommandError */
export async function findUser(identity: Identity, text: string): Promise<User> {
  if (isId(text)) return identity.users.get(text);
  const pages = [{ name: text }, { email: text }].map((filter) => identity.users.list({ ...filter, count: 'none' }));
  const found = (await Promise.all(pages)).flatMap(({ items }) => items);
  return identity.users.get(only(found, 'user_id', `user ${text}`, columns).user_id);
}

function factorsOf(decision: string): 'keep' | 'remove_all' | string[] {
  return decision === 'keep' || decision === 'remove_all' ? decision : decision.split(',');
}

async function setStatus({ identity, options }: Shell, text: string, status: 'active' | 'disabled'): Promise<Answer> {
  const { user_id, name } = await findUser(identity, text);
  const version = options.ifVersion === undefined ? {} : { ifMatch: options.ifVersion };
  const json = await identity.users.update(user_id, { status }, { repeatable: true, ...version });
  const effect = status === 'disabled' ? ' All sessions of the user ended.' : '';
  return { json, text: `${safe(name)} is ${json.status}.${effect}` };
}
