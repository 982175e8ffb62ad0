/** State of this instance. */
export class HealthResponse {
  /** `ok`; an instance that is not answers 503 */
  status!: 'ok';
}
