export { type FieldError, IdentityError, isInvalidToken, isUnavailable, type Problem } from './errors.js';
export { followUsers, type FollowUsersOptions, type UserBatch } from './follow-users.js';
export { authorize, type Decision, type Rejection } from './guard.js';
export { createIdentity } from './identity.js';
export {
  type Login,
  login,
  type LoginOptions,
  type LoginStep,
  type PortalSession,
  type SecondFactor,
  type TokenLimits,
  type Visitor,
} from './login.js';
export type { ErrorCode } from './operations.js';
export type { Pages } from './pages.js';
export type { components, paths } from './schema.js';
export type { ClientOptions, RequestOptions } from './transport.js';
export type {
  Change,
  ChangePage,
  CheckedToken,
  FollowOptions,
  Identity,
  ListedUser,
  LoginResult,
  Role,
  Session,
  User,
  UserFilters,
} from './types.js';
export { type Caller, type Verifier, verifier, type VerifierOptions } from './verifier.js';
export { type HeadersLike, webhook, WebhookError, type WebhookEvent } from './webhook.js';
