/** Authorization server metadata (RFC 8414 §2). */
export class AuthorizationServerResponse {
  /** issuer of the tokens: the public URL of the service, with `BASE_PATH` @example https://identity.example.net */
  issuer!: string;
  /** URL of the public keys @example https://identity.example.net/.well-known/jwks.json */
  jwks_uri!: string;
  /** URL of the token introspection @example https://identity.example.net/auth/introspect */
  introspection_endpoint!: string;
  /**
   * ways to send the API key of a module: as a Bearer token, or with its id as client credentials
   * @example ['Bearer', 'client_secret_basic', 'client_secret_post']
   */
  introspection_endpoint_auth_methods_supported!: string[];
  /** always empty: the service has no authorization endpoint @example [] */
  response_types_supported!: string[];
  /** always empty: the service has no token endpoint @example [] */
  grant_types_supported!: string[];
  /** URL of the API explorer @example https://identity.example.net/docs */
  service_documentation!: string;
}
