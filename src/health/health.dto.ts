/** State of this instance. */
export class HealthResponse {
  /** always `ok`; an instance that cannot handle requests responds with 503 */
  status!: 'ok';
  /** version of the service @example 1.0.0 */
  version!: string;
}

/** State of an instance that can handle requests. */
export class ReadinessResponse extends HealthResponse {
  /** jobs that have waited for more than a minute, such as mails; at most 1,000, absent if none @example 3 */
  overdue_jobs?: number;
}

/** URLs for clients and operators. */
export class ServiceLinks {
  /** web console, unless `CONSOLE` is false @example https://identity.example.net/console/ */
  console?: string;
  /** API explorer @example https://identity.example.net/docs */
  docs!: string;
  /** OpenAPI document @example https://identity.example.net/docs/openapi.json */
  openapi!: string;
  /** keys that verify access tokens (JWKS) @example https://identity.example.net/.well-known/jwks.json */
  jwks!: string;
  /** responds with 200 while the process is running @example https://identity.example.net/health/live */
  live!: string;
  /** responds with 200 while the service can handle requests @example https://identity.example.net/health/ready */
  ready!: string;
}

/** Name, version and links of the service. */
export class ServiceResponse {
  /** name of the service @example carrier-identity */
  name!: string;
  /** version of the service @example 1.0.0 */
  version!: string;
  /** URLs for clients and operators */
  links!: ServiceLinks;
}
