import { AppError, invalid } from '../http/errors/app-error';
import { holds } from './permissions';

/** The audience of this service, and the default audience of tokens. */
export const ownAudience = 'carrier-platform';

/** Limits of the tokens of a session: requested by a login, then stored with the session. */
export interface TokenGrant {
  /** absent = this service */
  audience?: string[];
  /** absent = all permissions of the user */
  permissions?: string[];
  /** API key of the portal through which the user logged in; absent = no portal */
  client_id?: string;
}

/** Tokens contain both lists, and long tokens are rejected. */
const charactersMax = 2_000;

/** Returns whether an audience includes this service. */
export function includesOwn(audience: string | readonly string[] = ownAudience): boolean {
  return [audience].flat().includes(ownAudience);
}

/** Returns whether tokens contain permissions instead of roles. */
export function isLimited(grant: TokenGrant | null): boolean {
  return (grant?.audience ?? grant?.permissions) !== undefined;
}

/** Returns the permissions that were granted to a session and that the user still has. */
export function withinGrant(grant: TokenGrant | null, held: string[]): string[] {
  const granted = grant?.permissions ?? ['*'];
  return granted.includes('*') ? held : granted.filter((permission) => holds(held, permission));
}

/**
 * Narrows a grant to the requested limits. Never widens a grant (J30).
 * @param held permissions of the user
 * @throws auth.scope_exceeded, request.invalid
 */
export function narrowGrant(grant: TokenGrant | null, asked: TokenGrant, held: string[]): TokenGrant | null {
  if (!isLimited(asked)) return grant;
  const [audiences, left] = [grant?.audience ?? [ownAudience], withinGrant(grant, held)];
  const { audience = audiences, permissions = left } = asked;
  if (!audience.every((name) => audiences.includes(name)) || !permissions.every((name) => holds(left, name)))
    throw new AppError('auth.scope_exceeded');
  if (JSON.stringify([audience, permissions]).length <= charactersMax) return { ...grant, ...asked };
  const detail = `must have at most ${charactersMax} characters together with audience`;
  throw invalid({ pointer: '/permissions', code: 'field.too_long', detail, params: { max: charactersMax } });
}
