import { join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import type { AppError } from '../../http/errors/app-error';
import { errorKind } from '../../http/errors/error-codes';
import { compileTemplate } from '../../http/html-template';
import { acceptedLanguage, type Language, languageOf } from '../../platform/languages';
import { CONFIG, type Config, loginUrl, newLinkUrl } from '../../platform/config/config';
import { RecoveryService } from './recovery.service';
import { de } from './texts/de';
import { en, type PageName, type PageTexts } from './texts/en';

/** A page behind a mailed link, for the holder of the link. */
export interface LinkPage {
  name: PageName;
  language: Language;
  /** login name of the user of the link; '' if the link is not valid */
  login: string;
  /** whether the link also undoes changes that a mail reported */
  undoes: boolean;
}

/** The values of the template. The page omits a part whose value is null. */
interface PageValues {
  language: Language;
  title: string;
  product: string;
  error: string | null;
  passwordForm:
    (PageTexts['password'] & PageTexts['feedback'] & { login: string; min: number; undo: string | null }) | null;
  confirmForm: PageTexts['confirm'] | null;
  message: string | null;
  link: { url: string; label: string } | null;
}

const pageTexts: Record<Language, PageTexts> = { en, de };
const forms: Partial<Record<PageName, PageName>> = { 'reset-done': 'reset-form', 'email-done': 'email-form' };
const render = compileTemplate<PageValues>(join(__dirname, 'templates', 'link-page.hbs'));

/** Renders the pages behind mailed links. */
@Injectable()
export class LinkPagesService {
  constructor(
    private readonly recovery: RecoveryService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Prepares a page before its link is used: in the language of the user, or in the language that
   * the browser prefers.
   */
  async open(name: PageName, token: string, acceptLanguage: string | undefined): Promise<LinkPage> {
    const user = await this.recovery.holderOf(token, name.startsWith('email') ? 'email' : 'password');
    const language = languageOf(user?.locale ?? null) ?? acceptedLanguage(acceptLanguage);
    return { name, language, login: user?.name ?? '', undoes: user?.purpose === 'not_me' };
  }

  /** Renders the page of a request that succeeded. */
  page(page: LinkPage): string {
    return render(this.valuesOf(page));
  }

  /**
   * Renders the page of a rejected request. Shows the form again after a rejected value, which does
   * not use up the link.
   */
  failure(page: LinkPage, { code, extras }: AppError): string {
    const { errors, faults, expired, failed } = pageTexts[page.language];
    const { status } = errorKind(code);
    const known = (extras.errors ?? []).map((fault) => textFor(fault.code, faults));
    if (status === 400) {
      const error = known.length === 0 ? faults.other : [...new Set(known)].join(' ');
      const form = this.valuesOf({ ...page, name: forms[page.name] ?? page.name });
      return render({ ...form, error: this.withMin(error) });
    }
    const title = status === 404 ? expired : failed;
    const link = status === 404 && page.name.startsWith('reset') ? this.newLinkOf(page) : null;
    const values = { ...this.valuesOf(page), passwordForm: null, confirmForm: null, message: null };
    return render({ ...values, title, error: textFor(code, errors), link });
  }

  private newLinkOf({ language }: LinkPage): PageValues['link'] {
    const url = newLinkUrl(this.config);
    return url === undefined ? this.portalLinkOf(language) : { url, label: pageTexts[language].newLink };
  }

  private portalLinkOf(language: Language): PageValues['link'] {
    const url = loginUrl(this.config);
    const label = pageTexts[language].portal.replace('{product}', () => this.config.PRODUCT_NAME);
    return url === undefined ? null : { url, label };
  }

  private valuesOf({ name, language, login, undoes }: LinkPage): PageValues {
    const { PRODUCT_NAME: product, PASSWORD_MIN_LENGTH: min } = this.config;
    const texts = pageTexts[language];
    const isDone = name.endsWith('done');
    const own = { hint: this.withMin(texts.password.hint), undo: undoes ? texts.undo : null, login, min };
    const password = { ...texts.password, ...texts.feedback, ...own };
    return {
      language,
      title: texts.titles[name],
      product,
      error: null,
      passwordForm: name === 'reset-form' ? password : null,
      confirmForm: name === 'email-form' ? texts.confirm : null,
      message: isDone ? texts.done : null,
      link: isDone ? this.portalLinkOf(language) : null,
    };
  }

  private withMin(text: string): string {
    return text.replace('{min}', String(this.config.PASSWORD_MIN_LENGTH));
  }
}

function textFor(code: string, texts: Record<string, string> & { other: string }): string {
  return texts[code] ?? texts.other;
}
