// One connection to an instance, for sequential requests.
const http = require('node:http');

class Line {
  constructor(url) {
    this.url = url;
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  }

  /** @returns {Promise<{ status: number, body: string }>} */
  send(method, path, { token, body } = {}) {
    const text = body === undefined ? '' : JSON.stringify(body);
    const headers =
      body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    return new Promise((resolve, reject) => {
      const request = http.request(`${this.url}${path}`, { agent: this.agent, method, headers }, (response) => {
        let answer = '';
        response.setEncoding('utf8').on('data', (part) => (answer += part));
        response.once('end', () => resolve({ status: response.statusCode, body: answer })).once('error', reject);
      });
      request.once('error', reject).end(text);
    });
  }

  /** Returns the response of check-token, or null if the token is invalid. */
  async check(token) {
    const { status, body } = await this.send('POST', '/auth/check-token', { body: { token } });
    if (status !== 200 && status !== 401) throw new Error(`check-token: ${status} ${body}`);
    return status === 200 ? JSON.parse(body) : null;
  }

  /** Returns permissions, roles and scope of a token as text for comparison, or 'nothing'. */
  async accessOf(token) {
    const checked = await this.check(token);
    if (checked === null) return 'nothing';
    const { permissions, user } = checked;
    return JSON.stringify({ permissions, roles: user.roles, carrier_scope: user.carrier_scope });
  }

  close() {
    this.agent.destroy();
  }
}

module.exports = { Line };
