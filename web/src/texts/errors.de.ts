/** Ein Text für jeden Fehlercode der API und für Fehler ohne Antwort der API. */
export const errorTexts: Record<string, string> = {
  'request.invalid': 'Einige Angaben sind ungültig.',
  'request.malformed_json': 'Der Dienst konnte die Anfrage nicht lesen. Laden Sie die Seite neu.',
  'bulk.filter_required': 'Fügen Sie mindestens einen Filter hinzu, oder wählen Sie alle Benutzer.',
  'bulk.too_many': 'Der Filter trifft auf mehr als 5.000.000 Benutzer zu. Wählen Sie einen engeren Filter.',
  'page.too_deep': 'Die Liste endet hier. Finden Sie weitere Einträge mit einem Filter.',
  'page.cursor_invalid': 'Die Liste hat sich geändert. Beginnen Sie wieder auf der ersten Seite.',
  'change.cursor_expired': 'Dieser Cursor ist abgelaufen. Beginnen Sie von vorn.',
  'auth.wrong_current_password': 'Das aktuelle Passwort ist falsch.',
  'auth.token_missing': 'Sie sind nicht angemeldet.',
  'auth.key_invalid': 'Der API-Schlüssel ist unbekannt, abgelaufen oder widerrufen.',
  'auth.token_invalid': 'Ihre Sitzung ist beendet. Melden Sie sich erneut an.',
  'auth.scope_exceeded': 'Die Anmeldung umfasst diese Berechtigung oder Zielgruppe nicht. Melden Sie sich erneut an.',
  'auth.invalid_credentials': 'Benutzername oder Passwort ist falsch, oder der Benutzer darf sich nicht anmelden.',
  'auth.reauthentication_required': 'Bestätigen Sie vor dieser Änderung Ihre Anmeldung erneut.',
  'auth.second_factor_required': 'Ein zweiter Faktor ist erforderlich.',
  'auth.challenge_invalid': 'Die Anmeldung hat zu lange gedauert oder hatte zu viele falsche Codes. Beginnen Sie neu.',
  'auth.invalid_second_factor': 'Der Code ist falsch oder wurde schon benutzt. Warten Sie auf den nächsten Code.',
  'auth.cross_origin': 'Die Konsole funktioniert nur unter der öffentlichen Adresse des Dienstes. Öffnen Sie sie dort.',
  'auth.second_factor_enrollment_required': 'Richten Sie zuerst einen zweiten Faktor ein.',
  'auth.mail_code_required': 'Geben Sie die acht Ziffern aus der E-Mail zu dieser Anmeldung ein.',
  'auth.passkey_unknown':
    'Dieser Passkey ist hier nicht bekannt. Verwenden Sie einen anderen, oder melden Sie sich mit Passwort an.',
  'access.denied': 'Das dürfen Sie nicht. Bitten Sie einen Administrator um die Berechtigung.',
  'access.grant_exceeds_own': 'Sie können nur Rollen, Berechtigungen und Bereiche vergeben, die Sie selbst haben.',
  'access.protected_user':
    'Der Benutzer hat eine Rolle, die Sie nicht vergeben dürfen. Daher können Sie ihn nicht ändern.',
  'user.self_protected':
    'Das ist bei Ihrem eigenen Benutzer nicht möglich. Bitten Sie einen anderen Administrator darum.',
  'auth.ip_not_allowed': 'Von dieser Adresse dürfen Sie sich nicht anmelden.',
  'auth.password_change_required': 'Ändern Sie zuerst Ihr Passwort.',
  'request.not_found': 'Das wurde nicht gefunden.',
  'user.not_found': 'Diesen Benutzer gibt es nicht, oder Sie dürfen ihn nicht sehen.',
  'session.not_found': 'Diese Sitzung gibt es nicht, oder Sie dürfen sie nicht sehen.',
  'role.not_found': 'Diese Rolle gibt es nicht.',
  'operation.not_found': 'Diesen Vorgang gibt es nicht, oder Sie dürfen ihn nicht sehen.',
  'address_block.not_found': 'Diese Sperre ist abgelaufen oder wurde aufgehoben.',
  'address_block.own_address':
    'Das Netz enthält Ihre eigene Adresse, einen Proxy des Dienstes oder ein Portal. Sperren Sie ein kleineres Netz.',
  'address_block.too_many': 'Es gibt 10.000 Sperren. Heben Sie einige auf, oder sperren Sie ein größeres Netz.',
  'delivery.not_found': 'Diese Zustellung gibt es nicht, oder sie ist älter als 7 Tage.',
  'webhook.disabled': 'Der Webhook ist deaktiviert. Aktivieren Sie ihn zuerst.',
  'webhook.not_found': 'Diesen Webhook gibt es nicht, oder Sie dürfen ihn nicht sehen.',
  'webhook.too_many': 'Es gibt zu viele Webhooks. Löschen Sie nicht benötigte Webhooks.',
  'key.inactive':
    'Der API-Schlüssel ist abgelaufen, ausgesetzt oder widerrufen. Lassen Sie einen ausgesetzten Schlüssel wieder ' +
    'zu, oder legen Sie einen neuen an.',
  'key.not_found': 'Diesen API-Schlüssel gibt es nicht, oder Sie dürfen ihn nicht sehen.',
  'factor.not_found':
    'Diesen zweiten Faktor gibt es nicht. Wenn Sie ihn nicht rechtzeitig bestätigt haben, fügen Sie ihn neu hinzu.',
  'mail.not_found': 'Die E-Mail wurde bereits gesendet, oder Sie dürfen den Empfänger nicht sehen.',
  'reset.token_invalid': 'Dieser Link ist nicht mehr gültig. Fordern Sie einen neuen an.',
  'email.token_invalid':
    'Dieser Link ist nicht mehr gültig. Ändern Sie die Adresse erneut, um einen neuen zu erhalten.',
  'export.link_invalid': 'Dieser Link zum Herunterladen gilt nicht mehr. Starten Sie den Export erneut.',
  'request.method_not_allowed': 'Der Dienst unterstützt das nicht. Laden Sie die Seite neu.',
  'user.email_taken': 'Ein anderer Benutzer hat diese E-Mail-Adresse.',
  'user.name_taken': 'Ein anderer Benutzer hat diesen Namen.',
  'user.last_administrator':
    'Das ist der letzte Administrator. Machen Sie zuerst einen anderen Benutzer zum Administrator.',
  'user.not_invited': 'Dieser Benutzer ist nicht eingeladen: Er hat ein Passwort oder ist deaktiviert.',
  'user.has_logged_in': 'Dieser Benutzer hat sich seit dem Import angemeldet. Löschen Sie ihn einzeln.',
  'user.no_password': 'Ein Benutzer ohne Passwort kann nicht aktiv sein. Laden Sie ihn ein.',
  'role.name_taken': 'Eine andere Rolle hat diesen Namen.',
  'role.in_use': 'Benutzer oder andere Rollen verwenden diese Rolle noch. Entfernen Sie sie dort zuerst.',
  'factor.required':
    'Sie brauchen einen zweiten Faktor, und dies ist Ihr einziger. Fügen Sie zuerst einen weiteren hinzu.',
  'factor.too_many': 'Sie haben die Höchstzahl zweiter Faktoren dieser Art. Entfernen Sie zuerst einen.',
  'factor.already_enrolled': 'Dieser Passkey ist schon eingerichtet. Legen Sie einen anderen an.',
  'bulk.expected_mismatch':
    'Die Zahl der passenden Benutzer hat sich geändert. Es wurde nichts geändert. Rufen Sie die Vorschau neu auf.',
  'bulk.set_changed':
    'Die passenden Benutzer haben sich seit der Vorschau geändert. Es wurde nichts geändert. ' +
    'Rufen Sie die Vorschau neu auf.',
  'operation.not_undoable':
    'Dieser Vorgang lässt sich nicht rückgängig machen: Er läuft noch, wurde bereits rückgängig gemacht, ist zu alt ' +
    'oder hat keinen Benutzer geändert.',
  'operation.too_slow':
    'Der Vorgang hat zu lange gedauert und wurde beendet. Sie können seine Änderungen rückgängig machen oder ihn ' +
    'mit einer kleineren Änderung wiederholen.',
  'operation.overlaps':
    'Ein laufender Vorgang ändert noch einige dieser Benutzer. Warten Sie, oder brechen Sie ihn ab.',
  'mail.being_sent': 'Die E-Mail wird gerade gesendet. Laden Sie die Liste gleich noch einmal.',
  'idempotency.in_progress': 'Der erste Versuch läuft noch. Versuchen Sie es gleich erneut.',
  'idempotency.key_reused': 'Diese Anfrage wurde schon mit anderen Daten gesendet. Laden Sie die Seite neu.',
  'user.version_mismatch': 'Dieser Benutzer wurde inzwischen geändert.',
  'role.version_mismatch': 'Diese Rolle wurde inzwischen geändert. Versuchen Sie es erneut.',
  'request.too_large': 'Die Anfrage ist zu groß. Senden Sie weniger auf einmal.',
  'request.unsupported_media_type': 'Der Dienst nimmt diese Art von Datei nicht an.',
  'request.headers_too_large': 'Der Filter ist zu lang. Entfernen Sie einige Werte.',
  'auth.too_many_attempts': 'Zu viele Versuche.',
  'request.rate_limited': 'Es gab zu viele Anfragen oder Konflikte. Versuchen Sie es später noch einmal.',
  'service.internal_error':
    'Im Dienst ist ein Fehler aufgetreten. Wenn er wieder auftritt, nennen Sie dem Betreiber die Anfrage-ID.',
  'service.overloaded': 'Der Dienst ist ausgelastet. Versuchen Sie es gleich erneut.',
  'service.stopping': 'Der Dienst startet neu. Versuchen Sie es gleich erneut.',
  'service.database_unavailable': 'Die Datenbank ist nicht verfügbar. Versuchen Sie es gleich erneut.',
  'passkey.not_used': 'Der Passkey wurde nicht verwendet. Versuchen Sie es erneut, oder wählen Sie einen anderen Weg.',
  'network.unreachable': 'Der Dienst ist nicht erreichbar. Prüfen Sie Ihre Verbindung, und versuchen Sie es erneut.',
  'network.unexpected_response': 'Der Dienst hat unerwartet geantwortet. Versuchen Sie es erneut.',
};

/** Ein Text für jeden Grund, aus dem ein Feld ungültig ist. */
export const fieldErrorTexts: Record<string, string> = {
  'field.required': 'fehlt',
  'permission.missing': 'Sie brauchen die Berechtigung {permission}.',
  'permission.unknown': '{permission} ist unbekannt. Meinten Sie {did_you_mean}?',
  'password.too_short': 'ist zu kurz: Verwenden Sie mindestens {min} Zeichen',
  'password.common': 'wird zu häufig verwendet',
  'password.contains_identity': 'enthält Ihren Namen, Ihre E-Mail-Adresse, Ihren Carrier oder den Namen des Produkts',
  'password.too_weak': 'ist zu leicht zu erraten',
  'password.breached': 'kam in einem Datenleck vor',
  'password.unchanged': 'ist das aktuelle Passwort',
  'webhook.url_forbidden': 'muss eine HTTPS-URL mit Port 443 oder einem Port ab 1024 und öffentlicher Adresse sein',
};
