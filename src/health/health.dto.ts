/** State of this instance. */
export class HealthResponse {
  /** always `ok`; an instance that cannot handle requests responds with 503 */
  status!: 'ok';
  /** version of the service */
  version!: string;
}

/** State of an instance that can handle requests. */
export class ReadinessResponse extends HealthResponse {
  /** jobs that have waited for more than a minute, such as mails; at most 1,000, absent if none */
  overdue_jobs?: number;
}

/** URLs for clients and operators. */
export class ServiceLinks {
  /** web console, unless `CONSOLE` is false */
  console?: string;
  /** API explorer */
  docs!: string;
  /** OpenAPI document */
  openapi!: string;
  /** keys that verify access tokens (JWKS) */
  jwks!: string;
  /** responds with 200 while the process is running */
  live!: string;
  /** responds with 200 while the service can handle requests */
  ready!: string;
}

/** Name, version and links of the service. */
export class ServiceResponse {
  /** name of the service */
  name!: string;
  /** version of the service */
  version!: string;
  /** URLs for clients and operators */
  links!: ServiceLinks;
}
