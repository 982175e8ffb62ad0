const contentOf = (name: string) => document.querySelector<HTMLMetaElement>(`meta[name=${name}]`);

/** The installation that serves this page: the service writes its settings into the page. */
export const installation = {
  /** `PRODUCT_NAME` */
  product: contentOf('product')?.content ?? 'Console',
  /** `ENVIRONMENT_NAME`; '' if unset */
  environment: contentOf('environment')?.content ?? '',
  /** `ENVIRONMENT_COLOR`, a color of the theme */
  color: contentOf('environment')?.dataset['color'] ?? 'gray',
};

/** Returns the title of the tab for a page, such as `Users · Acme · Staging`. */
export function tabTitle(page: string): string {
  return [page, installation.product, installation.environment].filter(Boolean).join(' · ');
}
