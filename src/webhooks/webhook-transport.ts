import { promises as dns } from 'node:dns';
import { type ClientRequest, type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { monotonicMs } from '../platform/clock';
import { CONFIG, type Config } from '../platform/config/config';
import { inSpan, traceHeaders } from '../platform/tracing/spans';
import { within } from '../platform/within';
import { hostOf, WebhookTargets } from './webhook-targets';

/** Reasons why a request got no response. Part of the API. */
export type WebhookError =
  'address_forbidden' | 'dns_failed' | 'connection_failed' | 'tls_failed' | 'answer_invalid' | 'timeout';

type Outcome = { status: number; answer: string } | { error: WebhookError };

/** The response of a target, cut off after 16 KiB, or the reason why there is none. */
export type WebhookAnswer = Outcome & { duration_ms: number };

/** Time limit of a request: resolving the name, connecting, and reading the whole response. */
const requestMs = 10_000;
/** Maximum size of a response. A longer response is cut off, and its connection is closed. */
const answerBytes = 16_384;

const plainHeaders = { 'content-type': 'application/json', 'user-agent': 'carrier-identity' };

/** Sends the requests of webhooks, and only to addresses that are public or explicitly allowed. */
@Injectable()
export class WebhookTransport {
  /** where requests may be sent */
  readonly targets: WebhookTargets;

  constructor(@Inject(CONFIG) { WEBHOOK_ALLOWED_NETWORKS }: Pick<Config, 'WEBHOOK_ALLOWED_NETWORKS'>) {
    this.targets = new WebhookTargets(WEBHOOK_ALLOWED_NETWORKS);
  }

  /**
   * Sends a POST request on a new connection. Follows no redirect, decompresses nothing, and does
   * not throw if the target fails.
   */
  async post(url: string, headers: Record<string, string>, body: string, limitMs = requestMs): Promise<WebhookAnswer> {
    const start = monotonicMs();
    const giveUp = new AbortController();
    const send = () =>
      within<Outcome>(limitMs, this.send(url, { ...headers, ...traceHeaders() }, body, giveUp.signal), () => {
        giveUp.abort();
        return { error: 'timeout' };
      });
    const outcome = await inSpan(
      'POST',
      { kind: 'CLIENT', attributes: { 'http.request.method': 'POST' }, outcome: spanOutcome },
      send,
    );
    return { ...outcome, duration_ms: Math.round(monotonicMs() - start) };
  }

  private async send(
    text: string,
    headers: Record<string, string>,
    body: string,
    signal: AbortSignal,
  ): Promise<Outcome> {
    // A setting may have changed since the webhook was created.
    if (this.targets.faultOf(text) !== undefined) return { error: 'address_forbidden' };
    const url = new URL(text);
    const addresses = await addressesOf(hostOf(url), signal);
    if (addresses.length === 0 || signal.aborted) return { error: 'dns_failed' };
    // One forbidden address is enough to reject: the name of a public target has none.
    if (!addresses.every(({ address }) => this.targets.permits(url.protocol, address)))
      return { error: 'address_forbidden' };
    // The connection uses the checked addresses, so the name is not resolved a second time.
    const options: RequestOptions & { autoSelectFamily: boolean } = {
      method: 'POST',
      headers: {
        ...plainHeaders,
        ...headers,
        'accept-encoding': 'identity',
        'content-length': String(Buffer.byteLength(body)),
      },
      agent: false,
      autoSelectFamily: true,
      lookup: (_host, _options, found) => found(null, addresses),
      maxHeaderSize: answerBytes,
      signal,
    };
    const isTls = url.protocol === 'https:';
    const sent = isTls ? httpsRequest(url, { ...options, rejectUnauthorized: true }) : httpRequest(url, options);
    return new Promise((resolve) => {
      receive(sent, isTls, resolve);
      sent.end(body);
    });
  }
}

function spanOutcome(outcome: Outcome) {
  return 'status' in outcome ? { 'http.response.status_code': outcome.status } : { 'error.type': outcome.error };
}

/**
 * Returns the addresses of a host. Asks the name servers directly: `dns.lookup` would occupy a
 * thread of the process, which also hashes passwords, for as long as a name server is silent.
 */
async function addressesOf(host: string, signal: AbortSignal): Promise<{ address: string; family: number }[]> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  const resolver = new dns.Resolver();
  resolver.setServers(dns.getServers());
  signal.addEventListener('abort', () => resolver.cancel());
  const none = (): string[] => [];
  const found = await Promise.all([resolver.resolve4(host).catch(none), resolver.resolve6(host).catch(none)]);
  return found.flat().map((address) => ({ address, family: isIP(address) }));
}

/** Calls `settle` with the response or the first error. Later calls have no effect. */
function receive(sent: ClientRequest, isTls: boolean, settle: (outcome: Outcome) => void): void {
  let failure: WebhookError = 'connection_failed';
  const fail = (error: NodeJS.ErrnoException) =>
    settle({ error: error.code?.startsWith('HPE_') === true ? 'answer_invalid' : failure });
  sent.on('error', fail).on('socket', (socket) => {
    if (!isTls) return;
    socket.on('connect', () => (failure = 'tls_failed')).on('secureConnect', () => (failure = 'connection_failed'));
  });
  sent.on('upgrade', (_response, socket) => {
    socket.destroy();
    settle({ error: 'answer_invalid' });
  });
  sent.on('response', (response: IncomingMessage) => {
    const chunks: Buffer[] = [];
    let missing = answerBytes;
    const finish = () => {
      sent.destroy();
      const answer = Buffer.concat(chunks).subarray(0, answerBytes).toString('utf8').replaceAll('\0', '');
      settle({ status: response.statusCode ?? 0, answer });
    };
    response.on('error', fail).on('end', finish);
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      missing -= chunk.length;
      if (missing <= 0) finish();
    });
  });
}
