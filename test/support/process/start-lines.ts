/** Collects the lines that the start of the service logs. */
export class StartLines {
  readonly logged: string[] = [];
  readonly warned: string[] = [];
  readonly log = (line: string) => void this.logged.push(line);
  readonly warn = (line: string) => void this.warned.push(line);
}
