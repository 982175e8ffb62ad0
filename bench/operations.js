// Bulk work of the service from the view of a caller: a request and its operation.
const { setTimeout: delay } = require('node:timers/promises');

const ASK_EVERY_MS = 100;

/** Sends the requests of a caller. */
class Operations {
  constructor(service, access_token) {
    this.service = service;
    this.headers = { authorization: `Bearer ${access_token}` };
  }

  async request(method, path, { body, type = 'application/json' } = {}) {
    const headers = body === undefined ? this.headers : { ...this.headers, 'content-type': type };
    const response = await fetch(`${this.service}${path}`, { method, headers, body, duplex: 'half' });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  }

  /**
   * Sends a request and waits for the end of its operation. Throws if the operation is incomplete.
   */
  async carryOut(method, path, sent) {
    const start = performance.now();
    let operation = await this.request(method, path, sent);
    while (operation.finished_at === null) {
      await delay(ASK_EVERY_MS);
      operation = await this.request('GET', `/user/operation/${operation.operation_id}`);
    }
    const ms = performance.now() - start;
    if ((operation.status ?? 'done') !== 'done' || operation.changed < operation.matched * 0.8)
      throw new Error(`${method} ${path}: ${JSON.stringify(operation)}`);
    return { operation, ms };
  }
}

module.exports = { Operations };
