/** Reports a database that the service cannot use. The message states what the operator must do. */
export class DatabaseFault extends Error {}
