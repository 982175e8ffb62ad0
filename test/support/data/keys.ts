import type { TestLogin, TestService } from '../service';

/** An API key of a test. */
export interface TestKey {
  key_id: string;
  key: string;
}

/** Returns a time some seconds from now, as requests contain it. */
export function inSeconds(seconds: number): string {
  return new Date(Date.now() + seconds * 1_000).toISOString();
}

/** Creates an API key that is valid for a day; any field can be given. */
export async function createKey(
  service: TestService,
  permissions: string[],
  fields: Record<string, unknown> = {},
  by: Pick<TestLogin, 'token'> = service.admin,
): Promise<TestKey> {
  const body = { name: 'machine', permissions, expires_at: inSeconds(86_400), ...fields };
  const answer = await service.post(`${service.config.BASE_PATH}/auth/key/create`, { token: by.token, body });
  if (answer.status !== 201) throw new Error(`create: ${answer.text}`);
  return answer.body as TestKey;
}
