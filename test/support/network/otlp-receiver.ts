import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A received span. */
export interface ReceivedSpan {
  trace_id: string;
  span_id: string;
  parent_id: string;
  trace_state: string;
  name: string;
  kind: number;
  attributes: Record<string, string>;
  /** ids of the linked traces */
  links: string[];
  failed: boolean;
}

/** An OpenTelemetry collector on loopback: receives traces over `http/protobuf`. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** attributes of the resource of the last export */
  resource: Record<string, string> = {};
  /** headers of the last export */
  headers: IncomingHttpHeaders = {};
  /** everything that was received */
  bytes = Buffer.alloc(0);
  /** status of responses; null = none */
  status: number | null = 200;
  private readonly server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      this.headers = request.headers;
      if (this.status === 200) this.store(body);
      if (this.status !== null) response.writeHead(this.status).end();
    });
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Returns the spans of a name. */
  of(name: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  private store(body: Buffer): void {
    this.bytes = Buffer.concat([this.bytes, body]);
    for (const group of messages(body, 1)) {
      this.resource = attributesOf(messages(group, 1)[0] ?? Buffer.alloc(0), 1);
      for (const scope of messages(group, 2)) this.spans.push(...messages(scope, 2).map(spanOf));
    }
  }
}

/** @see https://github.com/open-telemetry/opentelemetry-proto `trace/v1/trace.proto` */
function spanOf(bytes: Buffer): ReceivedSpan {
  const first = (number: number) => messages(bytes, number)[0] ?? Buffer.alloc(0);
  return {
    trace_id: first(1).toString('hex'),
    span_id: first(2).toString('hex'),
    parent_id: first(4).toString('hex'),
    trace_state: first(3).toString(),
    name: first(5).toString(),
    kind: numbers(bytes, 6)[0] ?? 0,
    attributes: attributesOf(bytes, 9),
    links: messages(bytes, 13).map((link) => messages(link, 1)[0]?.toString('hex') ?? ''),
    failed: numbers(first(15), 3)[0] === 2,
  };
}

function attributesOf(bytes: Buffer, number: number): Record<string, string> {
  const pairs = messages(bytes, number).map((pair) => {
    const value = messages(pair, 2)[0] ?? Buffer.alloc(0);
    return [String(messages(pair, 1)[0]), messages(value, 1)[0]?.toString() ?? String(numbers(value, 3)[0])];
  });
  return Object.fromEntries(pairs) as Record<string, string>;
}

function messages(bytes: Buffer, number: number): Buffer[] {
  return fieldsOf(bytes).flatMap((field) =>
    field.number === number && Buffer.isBuffer(field.value) ? [field.value] : [],
  );
}

function numbers(bytes: Buffer, number: number): number[] {
  return fieldsOf(bytes).flatMap((field) =>
    field.number === number && typeof field.value === 'number' ? [field.value] : [],
  );
}

/** Parses the wire format of protobuf: varints, and values of 4, 8 or any number of bytes. */
function fieldsOf(bytes: Buffer): { number: number; value: Buffer | number }[] {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  const fields = [];
  while (at < bytes.length) {
    const tag = varint();
    const type = tag & 7;
    const length = type === 0 ? 0 : type === 1 ? 8 : type === 5 ? 4 : varint();
    fields.push({ number: tag >>> 3, value: type === 0 ? varint() : bytes.subarray(at, (at += length)) });
  }
  return fields;
}
