/** Path of the console, such as `/identity/console`. The service writes it into `<base>`. */
export const consolePath = new URL(document.baseURI).pathname.replace(/\/$/, '');

/** Path below which the API is served: empty, or `BASE_PATH` of the service. */
export const apiPath = consolePath.replace(/\/console$/, '');
