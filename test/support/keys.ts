import type { TestLogin, TestService } from './service';

/** A key that a test has made. */
export interface TestKey {
  key_id: string;
  key: string;
}

/** A time so many seconds from now, as it is sent. */
export function inSeconds(seconds: number): string {
  return new Date(Date.now() + seconds * 1_000).toISOString();
}

/** Makes a key that is good for a day; any field can be given. */
export async function createKey(
  service: TestService,
  permissions: string[],
  fields: Record<string, unknown> = {},
  by: Pick<TestLogin, 'token'> = service.admin,
): Promise<TestKey> {
  const body = { name: 'machine', permissions, expires_at: inSeconds(86_400), ...fields };
  const answer = await service.post('/auth/key/create', { token: by.token, body });
  if (answer.status !== 201) throw new Error(`create: ${answer.text}`);
  return answer.body as TestKey;
}
