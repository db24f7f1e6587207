import { bridgeTexts, clientTexts } from '@drawbridge/shared/clients/client-texts.ts'
import type { TextsLike } from './text.ts'

const startOver = 'Go back to the app you came from and connect again.'

/**
 * Every text of the pages, in English: the source of the type of all tables. Values are plain text with `{names}`; text between
 * backticks is code where the page shows commands.
 */
export const english = {
  common: {
    quoted: '“{name}”',
    noName: 'no name',
    unnamedApp: 'An unnamed app',
    removedApp: 'An app that is no longer registered',
    goTo: 'Go to {place}',
    seeConnections: 'See or end your connections',
    closePage: 'You can close this page.',
    privacy: 'Privacy',
    terms: 'Terms',
    support: 'Support',
    justNow: 'just now',
    onDate: 'on {date}',
  },
  permissions: {
    ownTools: 'Use the tools of the web app as you: read and change what you can there',
    toolsOf: 'Use the tools of {name}',
    stayDays: {
      one: 'Stay connected for {count} day without asking you again',
      other: 'Stay connected for {count} days without asking you again',
    },
    stayMinutes: {
      one: 'Stay connected for {count} minute without asking you again',
      other: 'Stay connected for {count} minutes without asking you again',
    },
  },
  subject: {
    heading: 'Sign in to allow access',
    title: 'Sign in to allow access for {asker}',
    codeTitle: 'Enter your code to allow access for {asker}',
    ask: 'An app wants to use your account at {app}.',
    returnsTo: 'Returns to',
    onThisComputer: 'on this computer',
    loopbackWarning: 'A program on this computer is asking. Continue only if you started it.',
    allows: 'What signing in allows',
    signIn: 'Sign in and allow',
    continueWith: 'Continue with {method} and allow',
    sso: 'Continue with single sign‑on and allow',
    confirm: 'Confirm and allow',
    cancel: 'Cancel and deny access',
    deviceTitle: 'Sign in to allow access for a device',
    deviceCodeTitle: 'Enter your code to allow access for a device',
    deviceAsk: 'A device or program elsewhere wants to use your account at {app}.',
    localAsk: 'A program on this computer wants to use your account at {app}.',
    deviceCode: 'Code on the device',
    requestedFrom: 'Requested from',
    thisComputer: 'This computer',
    unknownAddress: 'An unknown address',
    deviceWarning:
      'Continue only if you started this yourself, on a device in front of you that shows this code. If somebody sent you the code or the link, cancel: they would get access to your account.',
    accountTitle: 'Sign in to manage your connections',
    accountCodeTitle: 'Enter your code to manage your connections',
    accountAsk:
      'See and end the connections of every app that can use your account at {app}. Signing in here does not give any app access.',
    accountSafety:
      'For safety this page asks you to sign in again, even if you are signed in at {app}, and signs you out after an hour.',
    accountSignIn: 'Sign in',
    accountContinueWith: 'Continue with {method}',
    accountSso: 'Continue with single sign‑on',
    accountConfirm: 'Confirm',
    accountCancel: 'Cancel',
  },
  client: {
    requestedBy: 'Requested by',
    verified: 'Verified address',
    saysItBelongsTo: 'Says it belongs to',
    returnsElsewhere: ', but it returns to a different address',
    anyoneCanClaim: 'Any program can claim this',
    callsItself: 'Calls itself',
    unverifiedName: 'This name is not verified',
    knownAs: 'Known here as',
    setUpByOperator: 'Set up by the server’s operator',
    about: 'About {host}',
  },
  login: {
    failedTitle: 'Not signed in: {title}',
    heading: 'Sign in with your account at {app}',
    noMethod:
      'The ways to sign in that {app} uses are not offered here. Ask the server’s operator: doctor says what to set.',
    or: 'or',
    email: 'Email',
    emailOrDomain: 'Work email or company domain',
    password: 'Password',
    mailLink: 'Email me a link',
    mailCode: 'Email me a code',
    mailCodeOrLink: 'Email me a code or link',
    noAccount: 'No account yet? {create}, then come back here.',
    createAccount: 'Create one at {app}',
    captchaNeedsScript: 'The captcha needs JavaScript. Turn it on and reload this page.',
    captchaNeedsScriptOr:
      'The captcha needs JavaScript. Turn it on and reload this page, or use another sign-in method below.',
  },
  code: {
    failedTitle: 'Not confirmed: {title}',
    label: 'Code',
    factorHeading: 'Enter the code from your authenticator app',
    factorNote: 'Your account uses two-factor authentication.',
    factorHelp: 'Can’t use the app? {help}.',
    getHelp: 'Get help at {app}',
    whichApp: 'Which app shows the code?',
    unnamedFactor: 'Authenticator app {number}',
    factorTitle: 'The six digits shown in the app',
    factorHint: 'Six digits that change every 30 seconds.',
    mailHeading: 'Check your email',
    mailSent: 'If {email} has an account at {app}, a mail is on its way.',
    enterMailed: 'Enter the code from it.',
    openMailed: 'Open the link in it, in this browser.',
    enterOrOpenMailed: 'Enter the code from it, or open the link in it in this browser.',
    mailTitle: 'The digits in the mail',
    sendAnother: 'Send another mail',
    noMail: 'No mail after a minute? Look into the spam folder, then ask again.',
    waitForMail: {
      one: 'You can ask for another mail in a second.',
      other: 'You can ask for another mail in {count}\u00a0seconds.',
    },
    anotherWay: 'Use another address or way to sign in',
    attemptsLeft: { one: 'One attempt is left.', other: '{count}\u00a0attempts are left.' },
  },
  /** Why a sign-in failed. A wrong password, an unknown and a banned account share one text: others would reveal accounts. */
  failures: {
    invalid_credentials: 'Wrong email or password. Check both and try again.',
    bad_email: 'That is not an email address. Enter one, such as name@example.com.',
    bad_domain:
      'That has no domain in it. Enter your work email, such as name@example.com, or the domain of your company.',
    unknown_domain:
      'Single sign-on is not set up for that domain. Check it, or choose another way to sign in.',
    wrong_email_code: 'Wrong or expired code. Enter the code of the newest mail.',
    email_code_over:
      'That code can no longer be used: too many wrong ones, or an hour has passed. Ask for another mail.',
    email_unconfirmed:
      'This email address is not confirmed yet. Open the link in the confirmation email, then sign in again.',
    captcha:
      'The captcha is missing, failed, or expired. Complete it below, fill in the form again, and sign in.',
    captcha_not_configured:
      'This sign-in is not fully set up on this server. Choose another way to sign in, or tell the server’s operator.',
    not_allowed:
      'This account may not connect here. Sign in with another account, or ask the owner of the web app.',
    wrong_code: 'Wrong code. Enter the six digits that your authenticator app shows now.',
    second_factor_missing:
      'Only accounts with two-factor authentication can sign in here. Turn it on in the web app, then sign in again.',
    second_factor_unusable:
      'This account uses a second factor that is not supported here. Add an authenticator app to it in the web app, then sign in again.',
    second_factor_gone:
      'That sign-in expired after ten minutes, or was already completed or cancelled. Sign in again.',
    second_factor_wrong_codes: 'Too many wrong codes. Sign in again.',
    rate_limited: 'Too many attempts. Wait a minute, then try again.',
    mail_pause: 'A mail was asked for a moment ago. Use that one, or ask again in a minute.',
    mail_limited: 'Too many mails were asked for. Wait a minute, then ask again.',
    disabled: 'This sign-in method is turned off. Choose another one.',
    expired: 'That sign-in took too long. Start again.',
    denied: 'The sign-in was cancelled. Try again, or choose another way to sign in.',
    terminal: 'This account cannot sign in. Ask the owner of the web app.',
    invalid_token: 'The sign-in service sent a response that could not be verified. Try again later.',
    transient: 'The sign-in service cannot be reached right now. Try again in a moment.',
    protocol: 'The sign-in service sent an unexpected response. Try again later.',
  },
  mailPause: {
    one: 'A mail was asked for a moment ago. Use that one, or ask again in a second.',
    other: 'A mail was asked for a moment ago. Use that one, or ask again in {count}\u00a0seconds.',
  },
  tooManyMails: {
    one: 'Too many mails were asked for. Wait a minute, then ask again.',
    other: 'Too many mails were asked for. Wait {count} minutes, then ask again.',
  },
  tooManyAttempts: {
    one: 'Too many attempts. Wait a minute, then try again.',
    other: 'Too many attempts. Wait {count} minutes, then try again.',
  },
  finished: {
    signedInTitle: 'Signed in',
    signedIn: 'You’re signed in',
    denied: 'Access denied',
    takingBack: 'This browser is taking you back to {host}.',
    returnTo: 'Return to {name}',
    ifNothingOpens: 'If nothing opens, use the button. Then you can close this tab.',
    device: 'Your device can connect now',
    deviceMessage:
      'It usually connects within seconds. If it takes more than 2 minutes, you have to start again on the device.',
    deviceNext: 'Go back to your device. You can close this page.',
    deviceDenied: 'The device gets no access to your account.',
    signedOut: 'You’re signed out of this page',
    signedOutMessage:
      'This browser can no longer see or end your connections. The connections themselves stay active.',
    signInAgain: 'Sign in again',
  },
  device: {
    heading: 'Connect a device',
    failedTitle: 'Not found: {title}',
    ask: 'A device or program without a browser shows a code. Enter it here to start connecting it to your account at {app}.',
    linkAsk: 'A device or program without a browser wants to connect to your account at {app}.',
    warning: 'Only enter a code that you requested yourself. Never enter one that somebody sent you.',
    linkWarning: 'Only confirm a code that you requested yourself. Never confirm one that somebody sent you.',
    enter: 'Enter the code on your device',
    compare: 'Is this the code on your device?',
    compareNote: 'Compare it with your device, letter by letter. If they differ, close this page.',
    label: 'Code',
    hint: 'Eight letters, as in {sample}. Lowercase letters and a missing dash are fine.',
    fieldTitle: 'The eight letters shown on the device',
    continue: 'Continue',
    same: 'The codes are the same',
    noAccessYet: 'This does not give access yet. The next page shows who is asking, and for what.',
    unknown:
      'No device is waiting with this code. Check it for typos. If it is correct, it has expired: start again on your device.',
    malformed: 'A code has eight letters. Type it as shown on your device.',
  },
  connections: {
    heading: 'Your connections',
    ask: 'Apps and devices that can use your account at {app}.',
    askOf: 'Apps and devices that can use your account at {app}, signed in as {email}.',
    signOut: 'Sign out of this page',
    label: 'Connections',
    none: 'No app is connected',
    noneNote: 'Apps that you connect appear here until you end them or they expire.',
    howToConnect: 'See how to connect one',
    count: { one: 'One connection', other: '{count} connections' },
    more: {
      one: '{count} older connection is not shown. Ending all connections ends it too.',
      other: '{count} older connections are not shown. Ending all connections ends them too.',
    },
    staysSignedIn: 'Ending a connection does not sign you out of {app} itself.',
    end: 'End…',
    endNote: 'It loses access to your account until you connect it again.',
    endThis: 'End this connection',
    endAllAsk: 'End all connections…',
    endAllNote: 'Every app and device in this list loses access to your account until you connect it again.',
    endAll: 'End all connections',
    waiting: 'Allowed, not connected yet',
    waitingNote: 'Each of these can still connect for up to 2 minutes, unless you end it.',
    allowedTo: 'Allowed to',
    kind: 'Kind',
    waitingDevice: 'A device, with a code',
    waitingApp: 'An app',
    allowed: 'Allowed',
    device: 'A device, connected with a code',
    lastUsed: 'Last used',
    neverUsed: 'Not yet, or just now',
    usedFrom: '{when} from {address}',
    usedWith: '{when} with {tool}',
    usedFromWith: '{when} from {address} with {tool}',
    connected: 'Connected',
    expires: 'Expires',
    sentAgain: 'Same key sent again',
    sentAgainCount: { one: 'Once, {when}', other: '{count} times, most recently {when}' },
    atOnceOnWeb:
      'Used from {one} and {other} at the same time, {when}. Apps that run on the web often have several addresses. If this was not you, end this connection.',
    atOnce: '{notice}, {when}. If one of them is not you, end this connection.',
    atOnceNotice: 'Used from {one} and {other} at the same time',
    twoAddresses:
      '{notice} The same key was sent from {one} and from {other}. This can happen when a computer changes networks. If that was not you, end this connection.',
    twoAddressesNotice: 'Used from two addresses.',
    notAllowed:
      '{client} was disconnected {when} because your account may no longer use it here. Ask the owner of the web app if that is a mistake.',
    renewalRefused:
      '{client} was disconnected {when} because the web app no longer renewed its sign-in. Connect it again if you still use it.',
    signedOutElsewhere:
      '{client} was disconnected {when} because its sign-in had ended at the web app. This is normal after changing a password or signing out everywhere. Connect it again if you still use it.',
    keyUsedTwice:
      '{notice} {when}: its key was used twice, so somebody may have copied it. If you did not cause this yourself, for example by restoring a backup, check the computer it ran on. Then connect it again.',
    keyUsedTwiceNotice: '{client} was disconnected for your security',
    /** What the last form did. */
    notices: {
      ended: '{client} is no longer connected. To use it again, connect it from there.',
      all_ended: 'All connections ended.',
      already_ended: 'The connection had already ended.',
      form_refused: 'Nothing was changed, because that page was out of date. Try again here.',
    },
  },
  connect: {
    heading: 'Connect an AI client to {app}',
    ask: 'AI clients such as Claude or Cursor connect here. You need an account at {app} and sign in with it once; the client can then use it until you end that or it expires.',
    address: 'Address of the MCP server',
    copyAddress: 'Copy the address',
    onlyHere: 'Only programs on this computer can reach it.',
    canDo: 'What a client can do once you have signed in',
    publicTools: 'Tools that need no sign-in',
    clients: 'Clients',
    oneClick: 'Add with one click',
    oneClickNote: 'Your client opens and asks before it adds anything.',
    addTo: 'Add to {client}',
    others: 'Other clients',
    othersNote: 'Choose yours. If it is not listed, paste the address where it adds an MCP server.',
    connected: 'Connected already? {connections}',
    doesNotConnect: 'It does not connect',
    outOfReach: 'Not from this computer',
    outOfReachNote:
      '{client} calls over the internet and cannot reach this computer. Give the server a public address first.',
    link: 'Link',
    command: 'Command',
    entry: 'JSON',
    settings: 'Settings',
    copyFor: 'Copy for {client}',
    inSettings: 'In {client}, open {place}.',
    inFile: 'Add this to {place}, beside the servers that are there:',
    inTerminal: 'Run this in a terminal:',
    enterAs: 'Enter this as {place}:',
    copy: 'Copy',
    copied: 'Copied',
    selected: 'Selected',
  },
  help: {
    heading: 'It does not connect',
    ask: 'Most clients only say that the connection failed. These are the usual reasons, the most frequent first.',
    steps: 'What you can do',
    address: 'Compare the address in your client with {url}, letter by letter.',
    again: 'Remove the server in your client, add it again, and sign in when it asks.',
    browser:
      'Finish signing in in the browser window that your client opened, within a few minutes, with cookies allowed.',
    account:
      'Sign in with an account of {app}. Your administrator may have limited which accounts can connect.',
    local: 'This address is on your own computer. A client on the web cannot reach it.',
    network: 'In a company network, try another one: it may hold back what your client sends.',
    report:
      'If none of this helps, tell the operator the time and the name of your client, and the request ID if a page showed one. They can see where it stopped.',
    back: 'How to connect an AI client',
  },
  /** What to do with the first way to add the server to each client, as in the table of clients. */
  clients: clientTexts,
  bridge: bridgeTexts,
  errorPage: {
    whatToDo: 'What to do now',
    howToConnect: 'See how to connect an AI client',
    requestId: 'Request ID {id}',
    registered: 'Registered: {addresses}',
    noneRegistered: 'none',
  },
  errors: {
    misdirected_request: {
      title: 'Wrong host name',
      message: 'This server does not serve that host name.',
      nextStep: 'Use the host of BASE_URL. A reverse proxy must forward the Host header.',
    },
    not_found: {
      title: 'Page not found',
      message: 'There is no page at this address.',
      nextStep: 'To connect an MCP client, use the address that ends in /mcp.',
    },
    method_not_allowed: {
      title: 'Method not allowed',
      message: 'This address does not support that HTTP method.',
      nextStep: 'Use a method listed in the Allow header.',
    },
    temporarily_unavailable: {
      title: 'Temporarily unavailable',
      message: 'A service that this server depends on cannot be reached. Nothing is lost.',
      nextStep: 'Try again after as many seconds as Retry-After says.',
    },
    server_error: {
      title: 'Something went wrong',
      message: 'The server could not process this request.',
      nextStep: 'Try again. If it happens again, report the request ID from the X-Request-Id header.',
    },
    client_id_missing: {
      title: 'This link is incomplete',
      message: 'It does not say which app wants to connect (the client_id parameter is missing).',
      nextStep: startOver,
    },
    client_unknown: {
      title: 'This app is not registered here',
      message: 'Its registration was removed or never existed, so it cannot be connected.',
      nextStep:
        'In the app, remove this server and add it again. Signing in again is not enough: the app would use its old registration.',
    },
    redirect_uri_missing: {
      title: 'This link is incomplete',
      message: 'It does not say where to return to (the redirect_uri parameter is missing).',
      nextStep: startOver,
    },
    redirect_uri_mismatch: {
      title: 'This app uses an unregistered return address',
      message:
        'The return address in the link is not registered for this app. Sending you there could be unsafe.',
      nextStep:
        'In the app, remove this connector and add it again. If that does not help, contact the app’s developer.',
    },
    parameter_repeated: {
      title: 'This link is not valid',
      message: 'It names the app or the return address more than once.',
      nextStep: startOver,
    },
    transaction_invalid: {
      title: 'This sign-in page is not valid',
      message: 'It is incomplete, or it comes from another server.',
      nextStep: startOver,
    },
    transaction_expired: {
      title: 'This sign-in page has expired',
      message: 'For your security, a sign-in page expires after one hour.',
      nextStep: startOver,
    },
    foreign_browser: {
      title: 'This sign-in page belongs to another browser',
      message: 'It was opened in another browser, or this browser does not accept cookies.',
      nextStep: 'Allow cookies for this site, then go back to the app you came from and connect again.',
    },
    foreign_form: {
      title: 'This form was sent from another site',
      message: 'Sign-in forms are only accepted from the sign-in page itself.',
      nextStep: startOver,
    },
    form_unreadable: {
      title: 'This form cannot be read',
      message: 'It is too large, or some of its fields are missing or repeated.',
      nextStep: startOver,
    },
    social_expired: {
      title: 'This sign-in took too long',
      message:
        'The sign-in you came back from has expired, was already completed, or was begun in another browser.',
      nextStep: startOver,
    },
    mail_link_expired: {
      title: 'This sign-in cannot go on here',
      message:
        'It has expired, was already completed, or was begun in another browser. A link from a mail works once; some mail programs open it before you do.',
      nextStep:
        'If you came from a mail, go back to the page that waits for it. Enter the code from the mail there, or send another mail. Otherwise, go back to the app you came from and connect again.',
    },
    social_refused: {
      title: 'The sign-in was not completed',
      message:
        'It was cancelled or failed. This browser has several sign-ins open, so the server cannot tell which one it was.',
      nextStep: 'Go back to the tab with the sign-in page and try again, or start again in the app.',
    },
    social_rate_limited: {
      title: 'Too many people are signing in',
      message: 'Your sign-in has to wait. It is still open.',
      nextStep: 'Wait a minute, then reload this page.',
    },
    sign_in_unavailable: {
      title: 'Sign-in is not available right now',
      message: 'The web app’s sign-in service cannot be reached.',
      nextStep: 'Wait a moment, then reload this page.',
    },
    sign_in_broken: {
      title: 'Sign-in is not set up right',
      message:
        'The web app’s sign-in service gave an answer that this server cannot use. Waiting does not help.',
      nextStep: 'Tell the owner of the web app: drawbridge-server doctor says what to change.',
    },
    client_unavailable: {
      title: 'This app cannot be checked right now',
      message: 'Its metadata document cannot be fetched, so the server cannot verify the app.',
      nextStep:
        'Wait a minute, then connect again in the app. If this happens again, tell the server’s operator.',
    },
    client_document_faulty: {
      title: 'This app’s metadata is not valid',
      message: 'Its metadata document is missing or has an error, so the app cannot be connected.',
      nextStep: 'Trying again will not help. Send the details on this page to the app’s developer.',
    },
    request_refused: {
      title: 'This app’s request was refused',
      message: 'The app requested a sign-in in a way that this server does not accept.',
      nextStep:
        'If you trust the site below, go back to it; the app is told what went wrong. Otherwise close this page.',
    },
    client_limited: {
      title: 'This app cannot be checked right now',
      message: 'Too many new apps were connected from your network within a minute.',
      nextStep: 'Wait a minute, then connect again in the app.',
    },
    device_gone: {
      title: 'This code is no longer valid',
      message: 'It has expired, or the device was already allowed or denied.',
      nextStep: 'If your device is still waiting, start again there and enter the new code it shows.',
    },
    device_client_unknown: {
      title: 'The app on this device is not registered here',
      message: 'Its registration was removed or never existed, so it cannot be connected.',
      nextStep: 'On the device, remove this connector and add it again, then enter the new code it shows.',
    },
  },
} as const

/** A complete table of one language. */
export type Texts = TextsLike<typeof english>
