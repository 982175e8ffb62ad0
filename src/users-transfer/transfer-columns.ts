/** How users are written to a file and read from one. */
export type TransferFormat = 'csv' | 'ndjson';

/**
 * What a column holds. `code` is text that can be neither a formula nor anything that needs quotes,
 * `json` a list or an object.
 */
export type ColumnKind = 'text' | 'code' | 'json' | 'boolean' | 'time' | 'address';

/**
 * The columns of a file of users, in their order: an export writes them all, an import takes them
 * back.
 */
export const transferColumns = {
  user_id: 'code',
  user_type: 'code',
  name: 'text',
  email: 'text',
  email_verified_at: 'time',
  first_name: 'text',
  last_name: 'text',
  phone: 'text',
  locale: 'code',
  timezone: 'code',
  carrier_id: 'text',
  carrier_scope: 'json',
  roles: 'json',
  status: 'code',
  allowed_ips: 'json',
  attributes: 'json',
  must_change_password: 'boolean',
  created_at: 'time',
  last_login_at: 'time',
  last_login_ip: 'address',
  last_seen_at: 'time',
  password_changed_at: 'time',
} as const satisfies Record<string, ColumnKind>;

/** What an import takes: the columns of an export, and hashes. */
export const importColumns = { ...transferColumns, password_hash: 'code' } as const satisfies Record<
  string,
  ColumnKind
>;
