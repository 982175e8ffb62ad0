import { AppError, invalid } from '../common/errors/app-error';
import { holds } from './permissions';

/** The audience of this service, and of every token whose login asked for no other. */
export const ownAudience = 'carrier-platform';

/** Limits of the tokens of a session, as a login asks for them and as the session stores them. */
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

/** Returns whether tokens contain their permissions, and no roles. */
export function isLimited(grant: TokenGrant | null): boolean {
  return (grant?.audience ?? grant?.permissions) !== undefined;
}

/** Returns the permissions that a user still has of those that a session was granted. */
export function withinGrant(grant: TokenGrant | null, held: string[]): string[] {
  const granted = grant?.permissions ?? ['*'];
  return granted.includes('*') ? held : granted.filter((permission) => holds(held, permission));
}

/**
 * Narrows a grant. Never widens it (J30). For a new session, the grant is what the login asks for.
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
  const detail = `must limit the tokens to at most ${charactersMax} characters, together with audience`;
  throw invalid({ pointer: '/permissions', code: 'field.too_long', detail });
}
