/** State of this instance. */
export class HealthResponse {
  /** always `ok`; an instance that cannot handle requests responds with 503 */
  status!: 'ok';
}
