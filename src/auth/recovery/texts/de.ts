import type { PageTexts } from './en';

/** The pages in German. */
export const de: PageTexts = {
  titles: {
    'reset-form': 'Passwort festlegen',
    'reset-done': 'Ihr Passwort ist festgelegt',
    'email-form': 'E-Mail-Adresse bestätigen',
    'email-done': 'Ihre E-Mail-Adresse ist bestätigt',
  },
  password: {
    label: 'Neues Passwort',
    hint: 'Mindestens {min} Zeichen. Verwenden Sie eine lange Wortfolge; alle Zeichen sind erlaubt.',
    button: 'Passwort festlegen',
    show: 'Passwort anzeigen',
    hide: 'Passwort verbergen',
  },
  feedback: {
    short: 'Zu kurz. Fehlende Zeichen: {count}',
    simple: 'Zu einfach. Verwenden Sie mehr unterschiedliche Zeichen.',
    identity: 'Darf Ihren Anmeldenamen nicht enthalten.',
    good: 'Lang genug.',
  },
  confirm: {
    text: 'Klicken Sie auf die Schaltfläche, um diese E-Mail-Adresse zu verwenden.',
    button: 'Adresse bestätigen',
  },
  undo:
    'Das neue Passwort beendet alle Sitzungen und stellt die E-Mail-Adresse wieder her, an die der Link gesendet ' +
    'wurde. Außerdem werden zweite Faktoren und API-Schlüssel entfernt, die seit der ersten rückgängig gemachten ' +
    'Änderung hinzugefügt wurden.',
  done: 'Sie können diese Seite schließen und sich anmelden.',
  portal: 'Weiter zu {product}',
  newLink: 'Neuen Link anfordern',
  expired: 'Dieser Link ist nicht mehr gültig',
  failed: 'Die Anfrage ist fehlgeschlagen',
  errors: {
    'reset.token_invalid':
      'Der Link wurde bereits verwendet oder ersetzt, ist abgelaufen oder unvollständig. ' +
      'Fordern Sie einen neuen Link an.',
    'email.token_invalid':
      'Der Link wurde bereits verwendet oder ersetzt, ist abgelaufen oder unvollständig. ' +
      'Fordern Sie die Änderung der Adresse erneut an.',
    'user.email_taken': 'Diese E-Mail-Adresse gehört bereits zu einem anderen Konto.',
    'auth.too_many_attempts': 'Zu viele Versuche. Warten Sie eine Minute und versuchen Sie es erneut.',
    'request.rate_limited': 'Zu viele Anfragen. Warten Sie eine Minute und versuchen Sie es erneut.',
    other: 'Öffnen Sie den Link in der E-Mail erneut.',
  },
  faults: {
    'password.too_short': 'Das Passwort muss mindestens {min} Zeichen lang sein.',
    'password.too_long': 'Das Passwort darf höchstens 256 Zeichen lang sein.',
    'password.common': 'Das Passwort wird zu häufig verwendet.',
    'password.contains_identity':
      'Das Passwort darf weder den Namen noch die E-Mail-Adresse, den Carrier oder den Produktnamen enthalten.',
    'password.breached': 'Das Passwort steht in einer Liste gestohlener Passwörter. Wählen Sie ein anderes.',
    'password.too_weak': 'Das Passwort ist zu leicht zu erraten. Fügen Sie einige seltene Wörter hinzu.',
    'field.required': 'Geben Sie ein Passwort ein.',
    other: 'Das Passwort enthält nicht erlaubte Zeichen, oder das Formular ist unvollständig.',
  },
};
