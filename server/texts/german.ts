import type { Texts } from './english.ts'

const startOver = 'Gehen Sie zurück zu der App, von der Sie kommen, und verbinden Sie sie erneut.'

/** Every text of the pages, in German. */
export const german: Texts = {
  common: {
    quoted: '„{name}“',
    noName: 'ohne Namen',
    unnamedApp: 'Eine App ohne Namen',
    removedApp: 'Eine App, die nicht mehr registriert ist',
    goTo: 'Weiter zu {place}',
    seeConnections: 'Verbindungen ansehen oder beenden',
    closePage: 'Sie können diese Seite schließen.',
    privacy: 'Datenschutz',
    terms: 'Nutzungsbedingungen',
    support: 'Hilfe',
    justNow: 'gerade eben',
    onDate: 'am {date}',
  },
  permissions: {
    ownTools: 'Die Werkzeuge der Web-App in Ihrem Namen nutzen: lesen und ändern, was Sie dort dürfen',
    toolsOf: 'Die Werkzeuge von {name} nutzen',
    stayDays: {
      one: '{count} Tag lang verbunden bleiben, ohne Sie erneut zu fragen',
      other: '{count} Tage lang verbunden bleiben, ohne Sie erneut zu fragen',
    },
    stayMinutes: {
      one: '{count} Minute lang verbunden bleiben, ohne Sie erneut zu fragen',
      other: '{count} Minuten lang verbunden bleiben, ohne Sie erneut zu fragen',
    },
  },
  subject: {
    heading: 'Anmelden und Zugriff erlauben',
    title: 'Anmelden und Zugriff erlauben für {asker}',
    codeTitle: 'Code eingeben und Zugriff erlauben für {asker}',
    ask: 'Eine App möchte Ihr Konto bei {app} nutzen.',
    returnsTo: 'Führt zurück zu',
    onThisComputer: 'auf diesem Computer',
    loopbackWarning:
      'Ein Programm auf diesem Computer fragt an. Fahren Sie nur fort, wenn Sie es selbst gestartet haben.',
    allows: 'Das erlauben Sie mit der Anmeldung',
    signIn: 'Anmelden und erlauben',
    continueWith: 'Mit {method} anmelden und erlauben',
    sso: 'Mit Single Sign‑on anmelden und erlauben',
    confirm: 'Bestätigen und erlauben',
    cancel: 'Abbrechen und Zugriff ablehnen',
    deviceTitle: 'Anmelden und Zugriff für ein Gerät erlauben',
    deviceCodeTitle: 'Code eingeben und Zugriff für ein Gerät erlauben',
    deviceAsk: 'Ein Gerät oder Programm an einem anderen Ort möchte Ihr Konto bei {app} nutzen.',
    localAsk: 'Ein Programm auf diesem Computer möchte Ihr Konto bei {app} nutzen.',
    deviceCode: 'Code auf dem Gerät',
    requestedFrom: 'Angefragt von',
    thisComputer: 'Dieser Computer',
    unknownAddress: 'Unbekannte Adresse',
    deviceWarning:
      'Fahren Sie nur fort, wenn Sie das selbst begonnen haben, auf einem Gerät vor Ihnen, das diesen Code zeigt. Hat Ihnen jemand den Code oder den Link geschickt, brechen Sie ab: Er bekäme Zugriff auf Ihr Konto.',
    accountTitle: 'Anmelden, um Ihre Verbindungen zu verwalten',
    accountCodeTitle: 'Code eingeben, um Ihre Verbindungen zu verwalten',
    accountAsk:
      'Hier sehen und beenden Sie die Verbindungen aller Apps, die Ihr Konto bei {app} nutzen können. Diese Anmeldung gibt keiner App Zugriff.',
    accountSafety:
      'Zur Sicherheit melden Sie sich auf dieser Seite erneut an, auch wenn Sie bei {app} schon angemeldet sind. Nach einer Stunde werden Sie abgemeldet.',
    accountSignIn: 'Anmelden',
    accountContinueWith: 'Mit {method} anmelden',
    accountSso: 'Mit Single Sign‑on anmelden',
    accountConfirm: 'Bestätigen',
    accountCancel: 'Abbrechen',
  },
  client: {
    requestedBy: 'Anfrage von',
    verified: 'Geprüfte Adresse',
    saysItBelongsTo: 'Gehört nach eigener Angabe zu',
    returnsElsewhere: ', führt aber zu einer anderen Adresse zurück',
    anyoneCanClaim: 'Das kann jedes Programm behaupten',
    callsItself: 'Nennt sich',
    unverifiedName: 'Dieser Name ist nicht geprüft',
    knownAs: 'Hier bekannt als',
    setUpByOperator: 'Vom Betreiber des Servers eingerichtet',
    about: 'Über {host}',
  },
  login: {
    failedTitle: 'Nicht angemeldet: {title}',
    heading: 'Melden Sie sich mit Ihrem Konto bei {app} an',
    noMethod:
      'Die Anmeldeverfahren von {app} werden hier nicht angeboten. Wenden Sie sich an den Betreiber des Servers: doctor sagt, was einzustellen ist.',
    or: 'oder',
    email: 'E-Mail-Adresse',
    emailOrDomain: 'Geschäftliche E-Mail-Adresse oder Domain der Firma',
    password: 'Passwort',
    mailLink: 'Link per E-Mail senden',
    mailCode: 'Code per E-Mail senden',
    mailCodeOrLink: 'Code oder Link per E-Mail senden',
    noAccount: 'Noch kein Konto? {create} und kommen Sie dann hierher zurück.',
    createAccount: 'Legen Sie eines bei {app} an',
    captchaNeedsScript:
      'Für das Captcha wird JavaScript gebraucht. Schalten Sie es ein und laden Sie diese Seite neu.',
    captchaNeedsScriptOr:
      'Für das Captcha wird JavaScript gebraucht. Schalten Sie es ein und laden Sie diese Seite neu, oder melden Sie sich unten auf andere Weise an.',
  },
  code: {
    failedTitle: 'Nicht bestätigt: {title}',
    label: 'Code',
    factorHeading: 'Geben Sie den Code aus Ihrer Authenticator-App ein',
    factorNote: 'Ihr Konto ist mit Zwei-Faktor-Authentifizierung geschützt.',
    factorHelp: 'Sie können die App nicht nutzen? {help}.',
    getHelp: 'Hilfe bei {app}',
    whichApp: 'Welche App zeigt den Code?',
    unnamedFactor: 'Authenticator-App {number}',
    factorTitle: 'Die sechs Ziffern, die die App zeigt',
    factorHint: 'Sechs Ziffern, die alle 30 Sekunden wechseln.',
    mailHeading: 'Sehen Sie in Ihr Postfach',
    mailSent: 'Wenn {email} ein Konto bei {app} hat, ist eine E-Mail unterwegs.',
    enterMailed: 'Geben Sie den Code daraus ein.',
    openMailed: 'Öffnen Sie den Link darin, und zwar in diesem Browser.',
    enterOrOpenMailed: 'Geben Sie den Code daraus ein, oder öffnen Sie den Link darin in diesem Browser.',
    mailTitle: 'Die Ziffern aus der E-Mail',
    sendAnother: 'Neue E-Mail senden',
    noMail:
      'Nach einer Minute noch keine E-Mail? Sehen Sie im Spam-Ordner nach und fordern Sie dann eine neue an.',
    waitForMail: {
      one: 'In einer Sekunde können Sie eine neue E-Mail anfordern.',
      other: 'In {count}\u00a0Sekunden können Sie eine neue E-Mail anfordern.',
    },
    anotherWay: 'Andere Adresse oder andere Anmeldung wählen',
    attemptsLeft: { one: 'Ein Versuch bleibt.', other: '{count}\u00a0Versuche bleiben.' },
  },
  failures: {
    invalid_credentials:
      'E-Mail-Adresse oder Passwort ist falsch. Prüfen Sie beides und versuchen Sie es erneut.',
    bad_email: 'Das ist keine E-Mail-Adresse. Geben Sie eine ein, etwa name@example.com.',
    bad_domain:
      'Darin ist keine Domain. Geben Sie Ihre geschäftliche E-Mail-Adresse ein, etwa name@example.com, oder die Domain Ihrer Firma.',
    unknown_domain:
      'Für diese Domain ist kein Single Sign-on eingerichtet. Prüfen Sie sie, oder wählen Sie eine andere Anmeldeart.',
    wrong_email_code: 'Der Code ist falsch oder abgelaufen. Geben Sie den Code aus der neuesten E-Mail ein.',
    email_code_over:
      'Dieser Code gilt nicht mehr: Es gab zu viele falsche Eingaben, oder eine Stunde ist vergangen. Fordern Sie eine neue E-Mail an.',
    email_unconfirmed:
      'Diese E-Mail-Adresse ist noch nicht bestätigt. Öffnen Sie den Link in der Bestätigungs-E-Mail und melden Sie sich dann erneut an.',
    captcha:
      'Das Captcha fehlt, ist fehlgeschlagen oder abgelaufen. Lösen Sie es unten, füllen Sie das Formular noch einmal aus und melden Sie sich an.',
    captcha_not_configured:
      'Diese Anmeldung ist auf diesem Server nicht fertig eingerichtet. Melden Sie sich auf andere Weise an, oder sagen Sie dem Betreiber des Servers Bescheid.',
    not_allowed:
      'Dieses Konto darf hier nicht verbunden werden. Melden Sie sich mit einem anderen Konto an, oder fragen Sie den Betreiber der Web-App.',
    wrong_code:
      'Der Code ist falsch. Geben Sie die sechs Ziffern ein, die Ihre Authenticator-App jetzt zeigt.',
    second_factor_missing:
      'Hier können sich nur Konten mit Zwei-Faktor-Authentifizierung anmelden. Schalten Sie sie in der Web-App ein und melden Sie sich dann erneut an.',
    second_factor_unusable:
      'Dieses Konto hat einen zweiten Faktor, der hier nicht unterstützt wird. Fügen Sie in der Web-App eine Authenticator-App hinzu und melden Sie sich dann erneut an.',
    second_factor_gone:
      'Diese Anmeldung ist nach zehn Minuten abgelaufen, oder sie wurde schon abgeschlossen oder abgebrochen. Melden Sie sich erneut an.',
    second_factor_wrong_codes: 'Zu viele falsche Codes. Melden Sie sich erneut an.',
    rate_limited: 'Zu viele Versuche. Warten Sie eine Minute und versuchen Sie es erneut.',
    mail_pause:
      'Gerade wurde schon eine E-Mail angefordert. Nutzen Sie diese, oder fordern Sie in einer Minute eine neue an.',
    mail_limited:
      'Es wurden zu viele E-Mails angefordert. Warten Sie eine Minute und fordern Sie dann eine neue an.',
    disabled: 'Diese Anmeldung ist ausgeschaltet. Wählen Sie eine andere.',
    expired: 'Die Anmeldung hat zu lange gedauert. Beginnen Sie von vorn.',
    denied:
      'Die Anmeldung wurde abgebrochen. Versuchen Sie es erneut, oder melden Sie sich auf andere Weise an.',
    terminal: 'Dieses Konto kann sich nicht anmelden. Fragen Sie den Betreiber der Web-App.',
    invalid_token: 'Die Antwort des Anmeldedienstes ließ sich nicht prüfen. Versuchen Sie es später erneut.',
    transient: 'Der Anmeldedienst ist gerade nicht erreichbar. Versuchen Sie es gleich noch einmal.',
    protocol: 'Der Anmeldedienst hat unerwartet geantwortet. Versuchen Sie es später erneut.',
  },
  mailPause: {
    one: 'Gerade wurde schon eine E-Mail angefordert. Nutzen Sie diese, oder fordern Sie in einer Sekunde eine neue an.',
    other:
      'Gerade wurde schon eine E-Mail angefordert. Nutzen Sie diese, oder fordern Sie in {count}\u00a0Sekunden eine neue an.',
  },
  tooManyMails: {
    one: 'Es wurden zu viele E-Mails angefordert. Warten Sie eine Minute und fordern Sie dann eine neue an.',
    other:
      'Es wurden zu viele E-Mails angefordert. Warten Sie {count} Minuten und fordern Sie dann eine neue an.',
  },
  tooManyAttempts: {
    one: 'Zu viele Versuche. Warten Sie eine Minute und versuchen Sie es erneut.',
    other: 'Zu viele Versuche. Warten Sie {count} Minuten und versuchen Sie es erneut.',
  },
  finished: {
    signedInTitle: 'Angemeldet',
    signedIn: 'Sie sind angemeldet',
    denied: 'Zugriff abgelehnt',
    takingBack: 'Dieser Browser bringt Sie zurück zu {host}.',
    returnTo: 'Zurück zu {name}',
    ifNothingOpens:
      'Wenn sich nichts öffnet, nutzen Sie die Schaltfläche. Danach können Sie diesen Tab schließen.',
    device: 'Ihr Gerät kann sich jetzt verbinden',
    deviceMessage:
      'Meist verbindet es sich in wenigen Sekunden. Dauert es länger als 2 Minuten, beginnen Sie auf dem Gerät von vorn.',
    deviceNext: 'Gehen Sie zurück zu Ihrem Gerät. Sie können diese Seite schließen.',
    deviceDenied: 'Das Gerät bekommt keinen Zugriff auf Ihr Konto.',
    signedOut: 'Sie sind von dieser Seite abgemeldet',
    signedOutMessage:
      'Dieser Browser kann Ihre Verbindungen nicht mehr sehen oder beenden. Die Verbindungen selbst bleiben bestehen.',
    signInAgain: 'Erneut anmelden',
  },
  device: {
    heading: 'Gerät verbinden',
    failedTitle: 'Nicht gefunden: {title}',
    ask: 'Ein Gerät oder Programm ohne Browser zeigt einen Code. Geben Sie ihn hier ein, um es mit Ihrem Konto bei {app} zu verbinden.',
    linkAsk: 'Ein Gerät oder Programm ohne Browser möchte sich mit Ihrem Konto bei {app} verbinden.',
    warning:
      'Geben Sie nur einen Code ein, den Sie selbst angefordert haben, und nie einen, den Ihnen jemand geschickt hat.',
    linkWarning:
      'Bestätigen Sie nur einen Code, den Sie selbst angefordert haben, und nie einen, den Ihnen jemand geschickt hat.',
    enter: 'Geben Sie den Code ein, den Ihr Gerät zeigt',
    compare: 'Zeigt Ihr Gerät diesen Code?',
    compareNote:
      'Vergleichen Sie ihn Buchstabe für Buchstabe mit Ihrem Gerät. Stimmt er nicht überein, schließen Sie diese Seite.',
    label: 'Code',
    hint: 'Acht Buchstaben, wie in {sample}. Kleinbuchstaben und ein fehlender Bindestrich sind in Ordnung.',
    fieldTitle: 'Die acht Buchstaben, die das Gerät zeigt',
    continue: 'Weiter',
    same: 'Die Codes sind gleich',
    noAccessYet: 'Damit geben Sie noch keinen Zugriff. Die nächste Seite zeigt, wer fragt und wofür.',
    unknown:
      'Kein Gerät wartet mit diesem Code. Prüfen Sie ihn auf Tippfehler. Stimmt er, ist er abgelaufen: Beginnen Sie auf dem Gerät von vorn.',
    malformed: 'Ein Code hat acht Buchstaben. Geben Sie ihn so ein, wie Ihr Gerät ihn zeigt.',
  },
  connections: {
    heading: 'Ihre Verbindungen',
    ask: 'Apps und Geräte, die Ihr Konto bei {app} nutzen können.',
    askOf: 'Apps und Geräte, die Ihr Konto bei {app} nutzen können. Sie sind angemeldet als {email}.',
    signOut: 'Von dieser Seite abmelden',
    label: 'Verbindungen',
    none: 'Keine App ist verbunden',
    noneNote: 'Hier stehen die Apps, die Sie verbinden, bis Sie die Verbindung beenden oder sie abläuft.',
    howToConnect: 'So verbinden Sie eine App',
    count: { one: 'Eine Verbindung', other: '{count} Verbindungen' },
    more: {
      one: '{count} ältere Verbindung ist nicht aufgeführt. „Alle Verbindungen beenden“ beendet auch sie.',
      other:
        '{count} ältere Verbindungen sind nicht aufgeführt. „Alle Verbindungen beenden“ beendet auch sie.',
    },
    staysSignedIn: 'Wenn Sie eine Verbindung beenden, bleiben Sie bei {app} selbst angemeldet.',
    end: 'Beenden…',
    endNote: 'Der Zugriff auf Ihr Konto endet, bis Sie die Verbindung neu herstellen.',
    endThis: 'Diese Verbindung beenden',
    endAllAsk: 'Alle Verbindungen beenden…',
    endAllNote:
      'Jede App und jedes Gerät in dieser Liste verliert den Zugriff auf Ihr Konto, bis Sie die Verbindung neu herstellen.',
    endAll: 'Alle Verbindungen beenden',
    waiting: 'Erlaubt, noch nicht verbunden',
    waitingNote: 'Bis zu 2 Minuten lang können sich diese noch verbinden, wenn Sie es nicht beenden.',
    allowedTo: 'Darf',
    kind: 'Art',
    waitingDevice: 'Ein Gerät, mit einem Code',
    waitingApp: 'Eine App',
    allowed: 'Erlaubt',
    device: 'Ein Gerät, mit einem Code verbunden',
    lastUsed: 'Zuletzt genutzt',
    neverUsed: 'Noch nicht, oder gerade eben',
    usedFrom: '{when} von {address}',
    usedWith: '{when} mit {tool}',
    usedFromWith: '{when} von {address} mit {tool}',
    connected: 'Verbunden',
    expires: 'Läuft ab',
    sentAgain: 'Schlüssel erneut gesendet',
    sentAgainCount: { one: 'Einmal, {when}', other: '{count}-mal, zuletzt {when}' },
    atOnceOnWeb:
      'Gleichzeitig genutzt von {one} und {other}, {when}. Apps im Web haben oft mehrere Adressen. Waren Sie das nicht, beenden Sie diese Verbindung.',
    atOnce: '{notice}, {when}. Gehört eine davon nicht zu Ihnen, beenden Sie diese Verbindung.',
    atOnceNotice: 'Gleichzeitig genutzt von {one} und {other}',
    twoAddresses:
      '{notice} Derselbe Schlüssel kam von {one} und von {other}. Das kann vorkommen, wenn ein Computer das Netz wechselt. Waren Sie das nicht, beenden Sie diese Verbindung.',
    twoAddressesNotice: 'Von zwei Adressen genutzt.',
    notAllowed:
      '{client} wurde {when} getrennt, weil Ihr Konto hier nicht mehr genutzt werden darf. Fragen Sie den Betreiber der Web-App, wenn das ein Irrtum ist.',
    renewalRefused:
      '{client} wurde {when} getrennt, weil die Web-App die Anmeldung nicht mehr erneuert hat. Verbinden Sie sich neu, wenn Sie es noch nutzen.',
    signedOutElsewhere:
      '{client} wurde {when} getrennt, weil die Anmeldung bei der Web-App beendet war. Das ist normal, nachdem Sie das Passwort geändert oder sich überall abgemeldet haben. Verbinden Sie sich neu, wenn Sie es noch nutzen.',
    keyUsedTwice:
      '{notice} ({when}): Der Schlüssel wurde zweimal verwendet, jemand könnte ihn also kopiert haben. Wenn Sie das nicht selbst ausgelöst haben, etwa durch eine wiederhergestellte Sicherung, prüfen Sie den Computer, auf dem es lief. Verbinden Sie sich dann neu.',
    keyUsedTwiceNotice: '{client} wurde zu Ihrer Sicherheit getrennt',
    notices: {
      ended: '{client} ist nicht mehr verbunden. Um es wieder zu nutzen, verbinden Sie es von dort aus neu.',
      all_ended: 'Alle Verbindungen sind beendet.',
      already_ended: 'Die Verbindung war schon beendet.',
      form_refused:
        'Nichts wurde geändert, weil die Seite nicht mehr aktuell war. Versuchen Sie es hier erneut.',
    },
  },
  connect: {
    heading: 'Einen KI-Client mit {app} verbinden',
    ask: 'Hier verbinden sich KI-Clients wie Claude oder Cursor. Sie brauchen ein Konto bei {app} und melden sich einmal damit an; der Client kann es nutzen, bis Sie das beenden oder es abläuft.',
    address: 'Adresse des MCP-Servers',
    copyAddress: 'Adresse kopieren',
    onlyHere: 'Nur Programme auf diesem Computer erreichen sie.',
    canDo: 'Das darf ein Client, sobald Sie sich angemeldet haben',
    publicTools: 'Werkzeuge, die keine Anmeldung brauchen',
    clients: 'Clients',
    oneClick: 'Mit einem Klick hinzufügen',
    oneClickNote: 'Ihr Client öffnet sich und fragt, bevor er etwas hinzufügt.',
    addTo: 'Zu {client} hinzufügen',
    others: 'Andere Clients',
    othersNote:
      'Wählen Sie Ihren Client. Ist er nicht dabei, fügen Sie die Adresse dort ein, wo er einen MCP-Server hinzufügt.',
    connected: 'Schon verbunden? {connections}',
    doesNotConnect: 'Es verbindet sich nicht',
    outOfReach: 'Nicht von diesem Computer',
    outOfReachNote:
      '{client} kommt über das Internet und erreicht diesen Computer nicht. Geben Sie dem Server zuerst eine öffentliche Adresse.',
    link: 'Link',
    command: 'Befehl',
    entry: 'JSON',
    settings: 'Einstellungen',
    copyFor: 'Für {client} kopieren',
    inSettings: 'Öffnen Sie in {client} {place}.',
    inFile: 'Fügen Sie dies in {place} ein, neben den Servern, die schon da sind:',
    inTerminal: 'Führen Sie dies in einem Terminal aus:',
    enterAs: 'Geben Sie dies als {place} ein:',
    copy: 'Kopieren',
    copied: 'Kopiert',
    selected: 'Markiert',
  },
  help: {
    heading: 'Es verbindet sich nicht',
    ask: 'Die meisten Clients sagen nur, dass die Verbindung fehlgeschlagen ist. Das sind die üblichen Gründe, die häufigsten zuerst.',
    steps: 'Was Sie tun können',
    address: 'Vergleichen Sie die Adresse in Ihrem Client Zeichen für Zeichen mit {url}.',
    again:
      'Entfernen Sie den Server in Ihrem Client, fügen Sie ihn neu hinzu und melden Sie sich an, wenn er danach fragt.',
    browser:
      'Schließen Sie die Anmeldung in dem Browserfenster ab, das Ihr Client geöffnet hat, innerhalb weniger Minuten und mit erlaubten Cookies.',
    account: 'Melden Sie sich mit einem Konto von {app} an. Vielleicht sind nur bestimmte Konten zugelassen.',
    local: 'Diese Adresse gibt es nur auf Ihrem Computer. Ein Client im Web erreicht sie nicht.',
    network:
      'Versuchen Sie es statt im Firmennetz in einem anderen: Es könnte zurückhalten, was Ihr Client sendet.',
    report:
      'Hilft nichts davon, sagen Sie dem Betreiber die Uhrzeit und den Namen Ihres Clients, und die Anfrage-ID, falls eine Seite sie gezeigt hat. Er kann sehen, wo es aufgehört hat.',
    back: 'So verbinden Sie einen KI-Client',
  },
  // The names in the clients' own menus are as the clients show them in English.
  clients: {
    claude: {
      place: 'Settings > Connectors > Add custom connector',
      next: 'Fügen Sie diese Adresse ein, bestätigen Sie, wählen Sie Connect und melden Sie sich an.',
    },
    chatgpt: {
      place: 'Settings > Apps > Advanced settings',
      next: 'Schalten Sie Developer mode ein und wählen Sie Create app. Fügen Sie diese Adresse als URL des MCP-Servers ein, wählen Sie OAuth und melden Sie sich an.',
    },
    'claude-code': { next: 'Führen Sie dann `claude mcp login {name}` aus und melden Sie sich an.' },
    codex: { next: 'Ein Browser öffnet sich: Melden Sie sich dort an.' },
    gemini: { next: 'Starten Sie dann Gemini CLI, geben Sie `/mcp auth {name}` ein und melden Sie sich an.' },
    opencode: { next: 'Führen Sie dann `opencode mcp auth {name}` aus und melden Sie sich an.' },
    zed: {
      place: '`settings.json`, die der Befehl „zed: open settings file“ öffnet,',
      next: 'Zed fragt nach der Anmeldung.',
    },
    windsurf: {
      place: '`~/.codeium/windsurf/mcp_config.json`',
      next: 'Aktualisieren Sie die Liste der MCP-Server in Cascade und melden Sie sich an.',
    },
    inspector: { next: 'Öffnen Sie die Adresse, die er ausgibt, verbinden Sie sich und melden Sie sich an.' },
    'claude-desktop': {
      place: '`claude_desktop_config.json`, die Settings > Developer > Edit Config öffnet,',
      next: 'Beenden Sie Claude Desktop und starten Sie es neu. Ein Browser öffnet sich: Melden Sie sich dort an. {bridge}',
    },
    stdio: {
      name: 'Andere stdio-Clients',
      place: 'Befehl eines MCP-Servers',
      next: 'Ein Browser öffnet sich, wenn der Client ihn startet: Melden Sie sich dort an. {bridge}',
    },
  },
  bridge: {
    published: 'Dafür brauchen Sie Node.js.',
    unpublished:
      'Dafür brauchen Sie Node.js und die Bridge; Sie installieren sie mit `{install}` in einem Klon von Drawbridge.',
  },
  errorPage: {
    whatToDo: 'Was Sie jetzt tun können',
    howToConnect: 'So verbinden Sie einen KI-Client',
    requestId: 'Anfrage-ID {id}',
    registered: 'Registriert: {addresses}',
    noneRegistered: 'keine',
  },
  errors: {
    misdirected_request: {
      title: 'Falscher Hostname',
      message: 'Für diesen Hostnamen ist dieser Server nicht zuständig.',
      nextStep: 'Nutzen Sie den Host von BASE_URL. Ein Reverse-Proxy muss den Header Host weitergeben.',
    },
    not_found: {
      title: 'Seite nicht gefunden',
      message: 'Unter dieser Adresse gibt es keine Seite.',
      nextStep: 'Um einen MCP-Client zu verbinden, nutzen Sie die Adresse, die auf /mcp endet.',
    },
    method_not_allowed: {
      title: 'Methode nicht erlaubt',
      message: 'Diese Adresse unterstützt die HTTP-Methode nicht.',
      nextStep: 'Nutzen Sie eine Methode aus dem Header Allow.',
    },
    temporarily_unavailable: {
      title: 'Vorübergehend nicht verfügbar',
      message: 'Ein Dienst, den dieser Server braucht, ist nicht erreichbar. Es geht nichts verloren.',
      nextStep: 'Versuchen Sie es nach so vielen Sekunden erneut, wie Retry-After angibt.',
    },
    server_error: {
      title: 'Etwas ist schiefgegangen',
      message: 'Der Server konnte diese Anfrage nicht bearbeiten.',
      nextStep:
        'Versuchen Sie es erneut. Geschieht es wieder, melden Sie die Anfrage-ID aus dem Header X-Request-Id.',
    },
    client_id_missing: {
      title: 'Dieser Link ist unvollständig',
      message: 'Er sagt nicht, welche App sich verbinden möchte (der Parameter client_id fehlt).',
      nextStep: startOver,
    },
    client_unknown: {
      title: 'Diese App ist hier nicht registriert',
      message:
        'Ihre Registrierung wurde entfernt oder hat nie bestanden. Deshalb kann sie nicht verbunden werden.',
      nextStep:
        'Entfernen Sie diesen Server in der App und fügen Sie ihn neu hinzu. Eine neue Anmeldung genügt nicht: Die App würde ihre alte Registrierung nutzen.',
    },
    redirect_uri_missing: {
      title: 'Dieser Link ist unvollständig',
      message: 'Er sagt nicht, wohin er zurückführt (der Parameter redirect_uri fehlt).',
      nextStep: startOver,
    },
    redirect_uri_mismatch: {
      title: 'Diese App nutzt eine nicht registrierte Rückkehradresse',
      message:
        'Die Rückkehradresse im Link ist für diese App nicht registriert. Es könnte unsicher sein, Sie dorthin zu schicken.',
      nextStep:
        'Entfernen Sie diese Verbindung in der App und fügen Sie sie neu hinzu. Hilft das nicht, wenden Sie sich an den Entwickler der App.',
    },
    parameter_repeated: {
      title: 'Dieser Link ist ungültig',
      message: 'Er nennt die App oder die Rückkehradresse mehr als einmal.',
      nextStep: startOver,
    },
    transaction_invalid: {
      title: 'Diese Anmeldeseite ist ungültig',
      message: 'Sie ist unvollständig, oder sie kommt von einem anderen Server.',
      nextStep: startOver,
    },
    transaction_expired: {
      title: 'Diese Anmeldeseite ist abgelaufen',
      message: 'Zu Ihrer Sicherheit läuft eine Anmeldeseite nach einer Stunde ab.',
      nextStep: startOver,
    },
    foreign_browser: {
      title: 'Diese Anmeldeseite gehört zu einem anderen Browser',
      message: 'Sie wurde in einem anderen Browser geöffnet, oder dieser Browser nimmt keine Cookies an.',
      nextStep:
        'Erlauben Sie Cookies für diese Website, gehen Sie dann zurück zu der App, von der Sie kommen, und verbinden Sie sie erneut.',
    },
    foreign_form: {
      title: 'Dieses Formular kam von einer anderen Website',
      message: 'Anmeldungen werden nur von der Anmeldeseite selbst angenommen.',
      nextStep: startOver,
    },
    form_unreadable: {
      title: 'Dieses Formular ist nicht lesbar',
      message: 'Es ist zu groß, oder einige seiner Felder fehlen oder kommen mehrfach vor.',
      nextStep: startOver,
    },
    social_expired: {
      title: 'Diese Anmeldung hat zu lange gedauert',
      message:
        'Die Anmeldung, von der Sie zurückkommen, ist abgelaufen, wurde schon abgeschlossen oder in einem anderen Browser begonnen.',
      nextStep: startOver,
    },
    mail_link_expired: {
      title: 'Diese Anmeldung geht hier nicht weiter',
      message:
        'Sie ist abgelaufen, wurde schon abgeschlossen oder in einem anderen Browser begonnen. Ein Link aus einer E-Mail gilt nur einmal; manche E-Mail-Programme öffnen ihn schon vor Ihnen.',
      nextStep:
        'Wenn Sie aus einer E-Mail kommen, gehen Sie zurück zu der Seite, die darauf wartet. Geben Sie dort den Code aus der E-Mail ein, oder fordern Sie eine neue an. Sonst gehen Sie zurück zu der App, aus der Sie kommen, und verbinden Sie sich erneut.',
    },
    social_refused: {
      title: 'Die Anmeldung wurde nicht abgeschlossen',
      message:
        'Sie wurde abgebrochen oder ist fehlgeschlagen. In diesem Browser sind mehrere Anmeldungen offen, und der Server weiß nicht, welche es war.',
      nextStep:
        'Gehen Sie zurück zum Tab mit der Anmeldeseite und versuchen Sie es erneut, oder beginnen Sie in der App von vorn.',
    },
    social_rate_limited: {
      title: 'Gerade melden sich zu viele Personen an',
      message: 'Ihre Anmeldung muss warten. Sie ist noch offen.',
      nextStep: 'Warten Sie eine Minute und laden Sie diese Seite neu.',
    },
    sign_in_unavailable: {
      title: 'Die Anmeldung ist gerade nicht möglich',
      message: 'Der Anmeldedienst der Web-App ist nicht erreichbar.',
      nextStep: 'Warten Sie einen Moment und laden Sie diese Seite neu.',
    },
    sign_in_broken: {
      title: 'Die Anmeldung ist nicht richtig eingerichtet',
      message:
        'Der Anmeldedienst der Web-App hat etwas geantwortet, mit dem dieser Server nichts anfangen kann. Warten hilft nicht.',
      nextStep:
        'Sagen Sie dem Betreiber der Web-App Bescheid: drawbridge-server doctor nennt ihm, was zu ändern ist.',
    },
    client_unavailable: {
      title: 'Diese App kann gerade nicht geprüft werden',
      message: 'Ihr Metadatendokument ist nicht abrufbar. Deshalb kann der Server die App nicht prüfen.',
      nextStep:
        'Warten Sie eine Minute und verbinden Sie sich in der App erneut. Geschieht es wieder, sagen Sie dem Betreiber des Servers Bescheid.',
    },
    client_document_faulty: {
      title: 'Die Metadaten dieser App sind ungültig',
      message:
        'Ihr Metadatendokument fehlt oder ist fehlerhaft. Deshalb kann die App nicht verbunden werden.',
      nextStep:
        'Ein neuer Versuch hilft nicht. Senden Sie die Angaben auf dieser Seite an den Entwickler der App.',
    },
    request_refused: {
      title: 'Die Anfrage dieser App wurde abgelehnt',
      message: 'Die App hat die Anmeldung auf eine Weise angefordert, die dieser Server nicht annimmt.',
      nextStep:
        'Wenn Sie der Website unten vertrauen, gehen Sie dorthin zurück; die App erfährt, was falsch war. Schließen Sie sonst diese Seite.',
    },
    client_limited: {
      title: 'Diese App kann gerade nicht geprüft werden',
      message: 'Aus Ihrem Netz wurden innerhalb einer Minute zu viele neue Apps verbunden.',
      nextStep: 'Warten Sie eine Minute und verbinden Sie sich in der App erneut.',
    },
    device_gone: {
      title: 'Dieser Code gilt nicht mehr',
      message: 'Er ist abgelaufen, oder das Gerät wurde schon erlaubt oder abgelehnt.',
      nextStep:
        'Wenn Ihr Gerät noch wartet, beginnen Sie dort von vorn und geben Sie den neuen Code ein, den es zeigt.',
    },
    device_client_unknown: {
      title: 'Die App auf diesem Gerät ist hier nicht registriert',
      message:
        'Ihre Registrierung wurde entfernt oder hat nie bestanden. Deshalb kann sie nicht verbunden werden.',
      nextStep:
        'Entfernen Sie diese Verbindung auf dem Gerät und fügen Sie sie neu hinzu. Geben Sie dann den neuen Code ein, den es zeigt.',
    },
  },
}
