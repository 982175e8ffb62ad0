import { password, type TestService } from '../service';

const agents = {
  phone:
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 ' +
    'Mobile/15E148 Safari/604.1',
  desktop: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0',
  program: 'curl/8.10.1',
};

/** Logs in over the API as from a device with an address. Returns the id of the session. */
export async function loginFrom(
  service: TestService,
  login: string,
  device: keyof typeof agents,
  ip: string,
): Promise<string> {
  const answer = await service.post('/auth/login', {
    body: { login, password },
    headers: { 'user-agent': agents[device] },
    ip,
  });
  if (answer.status !== 200) throw new Error(`login of ${login}: ${answer.text}`);
  return answer.body.session_id;
}
