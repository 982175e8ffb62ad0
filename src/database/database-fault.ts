/** Reports a database that the service cannot run on. The message tells the operator what to do. */
export class DatabaseFault extends Error {}
