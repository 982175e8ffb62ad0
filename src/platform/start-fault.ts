/** Reports why the service cannot start. The message tells the operator what to do. */
export class StartFault extends Error {
  override name = 'StartFault';
}
