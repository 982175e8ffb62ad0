import { exampleOfEnum } from './document-enums';
import type { Schema } from './document-types';

const time = '2026-11-20T13:00:00.000Z';
const ids = {
  user: '0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e',
  administrator: '0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70',
  session: '0192f0c2-5b7d-7e19-a4c8-3d2e1f0a9b8c',
  operation: '0192f0c3-9e21-7a54-b1d7-4c5b6a798897',
};
const page = 'eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v';
const token = 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiIwMTkyZjBjMSJ9.c2lnbmF0dXJl';
const passkey = {
  id: 'cGFzc2tleQ',
  rawId: 'cGFzc2tleQ',
  type: 'public-key',
  response: { clientDataJSON: 'e30', authenticatorData: 'AA', signature: 'AA', userHandle: 'AA' },
  clientExtensionResults: {},
};
const linkToken = 'Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M';

/**
 * Examples by field or parameter name: a name has one meaning in the whole API.
 * `Schema.field` takes precedence over `field`. Times, booleans and enums need no entry.
 */
const examples: Record<string, unknown> = {
  user_id: ids.user,
  name: 'ada',
  email: 'ada@example.com',
  email_pending: 'ada@example.net',
  first_name: 'Ada',
  last_name: 'Lovelace',
  phone: '+4312345678',
  job_title: 'Head of Operations',
  locale: 'en-GB',
  timezone: 'Europe/Vienna',
  carrier_id: 'acme',
  carrier_scope: ['acme'],
  roles: ['carrier_user'],
  role: 'carrier_user',
  roles_add: ['carrier_administrator'],
  roles_remove: ['carrier_user'],
  user_types: ['carrier'],
  permissions: ['user:read'],
  permission: 'user:read',
  may_grant: ['carrier_user'],
  description: 'Helps users of all carriers',
  allowed_ips: ['203.0.113.0/24'],
  second_factors: ['totp'],
  factor_id: '0192f0c6-1d2e-7f3a-8b4c-5d6e7f8a9b0c',
  'FactorResponse.name': 'Phone',
  'AddTotpRequest.name': 'Phone',
  'RenameFactorRequest.name': 'Phone',
  mail_code: '01234567',
  'ConfirmTotpRequest.code': '492039',
  secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
  otpauth_uri: 'otpauth://totp/carrier-identity:ada?issuer=carrier-identity&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
  qr_svg: '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 45 45" shape-rendering="crispEdges"></svg>',
  'AddPasskeyRequest.name': 'Laptop',
  provider: 'Google Password Manager',
  options: {
    challenge: 'ZXhhbXBsZQ',
    rpId: 'example.net',
    timeout: 300_000,
    allowCredentials: [],
    userVerification: 'required',
  },
  passkey,
  recovery_codes: ['MFRG-GZDF-MZTW-Q2LK-NNWG-23TP'],
  recovery_codes_left: 10,
  challenge: linkToken,
  'SecondFactorRequest.code': '492039',
  'ReauthenticateRequest.code': '492039',
  recovery_code: 'K3QM-2V7X-ADJW-5RTL-6HNC-ZE4P',
  'IntrospectionResponse.auth_time': 1_795_179_600,
  amr: ['pwd', 'otp', 'mfa'],
  attributes: { tier: 'gold' },
  last_login_ip: '203.0.113.7',
  last_used_ip: '203.0.113.7',
  ip: '203.0.113.7',
  created_by: ids.administrator,
  revoked_by: ids.administrator,
  ended_by: ids.administrator,
  actor_id: ids.administrator,
  target_id: ids.user,
  target_type: 'user',
  event_id: '0192f0c4-2f10-7b6d-8e93-5a4b3c2d1e0f',
  event_type: 'user.changed',
  changes: { locale: { before: 'de', after: 'en-GB' } },
  session_id: ids.session,
  user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0',
  browser: 'Firefox 131',
  os: 'Linux',
  device: 'desktop',
  operation_id: ids.operation,
  undo_of: '0192f0b9-6d3a-7f28-95e1-6b7c8d9eafb0',
  undone_by: '0192f0d5-7c4b-7a39-86f2-7c8d9eafb0c1',
  request: { filters: { carrier_id: 'acme' }, change: { locale: 'en-GB' } },
  skipped_reasons: { 'access.protected_user': 1 },
  error_code: 'service.internal_error',
  reason: 'access.protected_user',
  confirm_token: 'eyJjIjoiMDE5MmYwYzMifQ.kV7d2RZs',
  login: 'ada',
  password: 'a quiet river under seven bridges',
  current_password: 'a quiet river under seven bridges',
  new_password: 'seven bridges over a quiet river',
  access_token: token,
  refresh_token: 'r1_Zk3vQ9sT1xWcR7yLb0uHnE5mPjD2gAaK8oIfX4eVt6M',
  'CheckTokenRequest.token': token,
  'IntrospectionRequest.token': token,
  token: linkToken,
  token_type_hint: 'access_token',
  expires_in: 600,
  refresh_expires_in: 2_592_000,
  client_id: '0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2',
  client_secret: `cik_${linkToken}`,
  key_id: '0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2',
  key: `cik_${linkToken}`,
  iss: 'https://identity.example.net',
  aud: 'carrier-platform',
  sub: ids.user,
  sid: ids.session,
  jti: '0192f0c6-1d2e-7f3a-8b4c-9eafb0c1d2e3',
  iat: 1_795_179_600,
  exp: 1_795_180_200,
  username: 'ada',
  scope: 'user:read user:update',
  kty: 'EC',
  crv: 'P-256',
  alg: 'ES256',
  use: 'sig',
  kid: 'Qv1yPZ0tS3mJcXn8aR5dLw7hKe2uGb4oTi6fVxYkA9E',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
  type: 'https://identity.example.net/docs/errors/user.not_found',
  title: 'User not found',
  'ProblemResponse.status': 404,
  detail: 'The user does not exist, or the caller may not see this user.',
  instance: `/user/${ids.user}`,
  code: 'user.not_found',
  request_id: 'a3c1f6de-52b8-4f0e-9d27-6b8e1c0f4a95',
  pointer: '/email',
  parameter: 'per_page',
  'FieldErrorResponse.code': 'field.malformed',
  'FieldErrorResponse.detail': 'must be an e-mail address',
  'FieldErrorResponse.hints': ['similar_to_common', 'another_word'],
  'SkippedResponse.detail': 'must be an e-mail address',
  'RoleResponse.name': 'support',
  'KeyResponse.name': 'billing',
  'CreatedKeyResponse.name': 'billing',
  mail_id: '00000000-0000-8000-8000-00000000002a',
  recipient: 'ada@example.com',
  attempts: 3,
  last_error: '550 5.1.1 mailbox unavailable',
  'ServiceResponse.name': 'carrier-identity',
  'ServiceResponse.version': '1.0.0',
  'HealthResponse.version': '1.0.0',
  docs: 'https://identity.example.net/docs',
  openapi: 'https://identity.example.net/docs/openapi.json',
  jwks: 'https://identity.example.net/.well-known/jwks.json',
  live: 'https://identity.example.net/health/live',
  ready: 'https://identity.example.net/health/ready',
  line: 2,
  cells: { user_type: 'carrier', carrier_id: 'acme', name: 'ada', email: 'ada.example.com' },
  version: 3,
  per_page: 50,
  page: 1,
  next_cursor: page,
  cursor: page,
  value: 1_234,
  matched: 120,
  expected: 120,
  processed: 120,
  changed: 110,
  would_change: 110,
  would_create: 110,
  unchanged: 9,
  skipped_count: 1,
  ended: 3,
  rate_per_second: 4_000,
  remaining_seconds: 12,
  q: 'ada',
  'If-Match': '"3"',
  'Idempotency-Key': '5f0c1a52-3b1e-4c37-9b8e-0d6f2a7c4e19',
};
const operators = /_(ne|in|gt|gte|lt|lte|isnull|like)$/;

/** Returns the example of a field or parameter, or undefined if there is none. */
export function exampleOf(name: string, schema: Schema, owner?: string): unknown {
  const own = examples[`${owner}.${name}`];
  if (own !== undefined) return own;
  if (schema.const !== undefined) return schema.const;
  const types = [schema.type].flat();
  if (schema.items !== undefined && !Array.isArray(examples[name])) {
    const item = exampleOf(name, schema.items, owner);
    return item === undefined ? undefined : [item];
  }
  const ref = (schema.anyOf?.[0] ?? schema).$ref;
  if (ref !== undefined) return exampleOfEnum(ref);
  if (types.includes('boolean')) return !['must_change_password', 'built_in', 'purge', 'everyone'].includes(name);
  if (schema.format === 'date-time') return time;
  const found = Object.hasOwn(examples, name) ? examples[name] : undefined;
  return found === undefined && operators.test(name) ? exampleOf(name.replace(operators, ''), schema, owner) : found;
}

/** Bodies that work as they are, for an administrator who tries an operation in the explorer. */
export const bodyExamples: Record<string, unknown> = {
  CreateUserRequest: {
    user_type: 'carrier',
    carrier_id: 'acme',
    name: 'ada',
    email: 'ada@example.com',
    first_name: 'Ada',
    last_name: 'Lovelace',
    roles: ['carrier_user'],
  },
  ChangeUserRequest: { locale: 'en-GB' },
  ChangeFoundUsersRequest: { attributes: { tier: 'gold' } },
  CreateRoleRequest: { name: 'support', user_types: ['system'], permissions: ['user:read'] },
  ChangeRoleRequest: { description: 'Helps users of all carriers' },
  CreateKeyRequest: { name: 'billing', permissions: ['user:read'], expires_at: '2027-06-30T00:00:00Z' },
  LoginRequest: { login: 'ada', password: 'a quiet river under seven bridges' },
  SecondFactorRequest: { challenge: linkToken, code: '492039' },
  ReauthenticateRequest: { password: 'a quiet river under seven bridges' },
  CheckTokenRequest: { token },
  LogoutRequest: {},
  IntrospectionRequest: { token },
  ChangePasswordRequest: {
    current_password: 'a quiet river under seven bridges',
    new_password: 'seven bridges over a quiet river',
  },
  ChangeEmailRequest: { email: 'ada@example.net', current_password: 'a quiet river under seven bridges' },
  AddTotpRequest: { name: 'Phone' },
  ConfirmTotpRequest: { factor_id: '0192f0c6-1d2e-7f3a-8b4c-5d6e7f8a9b0c', code: '492039' },
  RenameFactorRequest: { name: 'Phone' },
  CreatePasskeyOptionsRequest: {},
  AddPasskeyRequest: { name: 'Laptop', challenge: linkToken, passkey },
  ResetEmailRequest: { email: 'ada@example.com' },
  ResetRequest: { password: 'a quiet river under seven bridges' },
};

/** Files that an import accepts as they are. */
export const fileExamples: Record<string, string> = {
  'text/csv': [
    'user_type,carrier_id,name,email,first_name,last_name',
    'carrier,acme,grace,grace@example.com,Grace,Hopper',
    '',
  ].join('\n'),
  'application/x-ndjson': `${JSON.stringify({
    ...{ user_type: 'carrier', carrier_id: 'acme', name: 'joan', email: 'joan@example.com' },
    roles: ['carrier_user'],
  })}\n`,
};
