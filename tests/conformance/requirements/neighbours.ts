import { requirementDocument } from '../requirement.ts'
import { core, http, negative } from './proof.ts'

/** HTTP itself. */
export const httpSemantics = requirementDocument('RFC 9110', 'HTTP Semantics', [
  [
    '7.4',
    'A request for another host is 421.',
    'server/http/guards.ts',
    negative.resource('RFC 9110 7.4: a request for another host, as by DNS rebinding'),
  ],
  [
    '10.1.1',
    'Who expects 100-continue gets it, before the answer.',
    'server/http/listener.ts',
    http('guarded-server', 'who expects 100-continue gets it before the answer (RFC 9110 section 10.1.1)'),
  ],
  [
    '10.2.3',
    'An outage says when to come again.',
    'server/http/client-endpoint.ts',
    http(
      'client-endpoint',
      'RFC 9110 10.2.3: a client whose document cannot be fetched comes again, and keeps its tokens',
    ),
  ],
  [
    '13.1.2',
    'A document that has not changed is not sent again.',
    'server/http/metadata.ts',
    http('metadata', 'RFC 9110 13.1.2: an unchanged document is not sent again'),
  ],
  [
    '15.5.6',
    'A method that is not there is 405 with those that are.',
    'server/http/router.ts',
    negative.authorization('RFC 9110 15.5.6: a method that is none of it'),
  ],
  [
    '15.5.14',
    'A body that is too large is 413.',
    'server/http/body.ts',
    negative.token('RFC 9110 15.5.14: an endless body'),
  ],
])

/** Grants by tokens of others. */
export const tokenExchange = requirementDocument('RFC 8693', 'OAuth 2.0 Token Exchange', [
  [
    '2.1',
    'There is none: `unsupported_grant_type`.',
    'server/http/token.ts',
    negative.token('RFC 8693 2.1: token exchange'),
  ],
])

/** Requests by value or reference. */
export const requestObjects = requirementDocument('RFC 9101', 'JWT-Secured Authorization Request', [
  [
    '5',
    'A request object is refused and not passed over; its address is not fetched.',
    'server/core/authorization-request.ts',
    negative.authorization('RFC 9101 5: a request_uri, which is not fetched'),
  ],
])

/** Requests that were pushed ahead. */
export const pushedRequests = requirementDocument('RFC 9126', 'Pushed Authorization Requests', [
  [
    '4',
    'A reference to a pushed request is refused, as there are none.',
    'server/core/authorization-request.ts',
    negative.authorization('RFC 9126 4: a request_uri of a pushed request'),
  ],
])

/** What clients send by habit. */
export const openidConnect = requirementDocument('OpenID Connect Core', 'OpenID Connect Core 1.0', [
  [
    '3.1.2.1',
    '`prompt=none` beside another value is refused.',
    'server/core/authorization-request.ts',
    negative.authorization('OpenID Connect Core 3.1.2.1: prompt=none beside another'),
  ],
  [
    '3.1.2.1',
    '`login_hint` and the other prompts shape the page, and never replace the click.',
    'server/http/login-view.ts',
    http('login-safety', 'the email field has %j, and a click is needed'),
  ],
  [
    '3.1.2.1',
    'Parameters that are of no use here are ignored.',
    'server/core/authorization-request.ts',
    core('authorization-request', 'OpenID Connect 3.1.2.1: what is of no use here is ignored'),
  ],
  [
    '3.1.2.6',
    '`prompt=none` cannot be met: `login_required`.',
    'server/core/authorization-request.ts',
    negative.authorization('OpenID Connect Core 3.1.2.6: prompt=none'),
  ],
])
