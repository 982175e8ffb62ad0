/** A list: `await` returns its first page, and `for await` reads the items of all pages. */
export class Pages<Page> implements PromiseLike<Page>, AsyncIterable<Item<Page>> {
  private first: Promise<Page> | undefined;

  /** @param read reads a page, the first one without a cursor */
  constructor(private readonly read: (cursor?: string) => Promise<Page>) {}

  /** Reads the first page, once. */
  then<A = Page, B = never>(
    onPage?: ((page: Page) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return (this.first ??= this.read()).then(onPage, onError);
  }

  /** Reads page by page. */
  async *pages(): AsyncGenerator<Page, void, void> {
    for (let page: Page = await (this.first ??= this.read()); ; page = await this.read(cursorOf(page) as string)) {
      yield page;
      if (cursorOf(page) === null) return;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item<Page>, void, void> {
    for await (const page of this.pages()) yield* (page as { items: Item<Page>[] }).items;
  }
}
type Item<Page> = Page extends { items: (infer I)[] } ? I : never;
const cursorOf = (page: unknown) => (page as { next_cursor: string | null }).next_cursor;
