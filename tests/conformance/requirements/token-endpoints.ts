import { requirementDocument } from '../requirement.ts'
import { core, edge, http, negative } from './proof.ts'

/** Clients that give a token back. */
export const revocation = requirementDocument('RFC 7009', 'OAuth 2.0 Token Revocation', [
  [
    '2',
    'By POST, with the token in the form.',
    'server/http/revoke.ts',
    negative.revocation('RFC 7009 2: GET, which a link could do'),
  ],
  [
    '2.1',
    'The client is proven, and revokes what is its own.',
    'server/core/revocation.ts',
    negative.revocation('RFC 7009 2.1: a refresh token of another client'),
  ],
  [
    '2.1',
    'With a refresh token its access tokens and the session at the provider end.',
    'server/core/revocation.ts',
    http('revoke', 'answers 200 without content, and the connection is over, at the provider too'),
  ],
  [
    '2.1',
    'The access token of a client that can refresh ends alone.',
    'server/core/revocation.ts',
    negative.revocation('RFC 7009 2.1: with an access token nothing else is over'),
  ],
  [
    '2.1',
    'A hint, right or wrong, known or not, does no harm.',
    'server/core/revocation.ts',
    negative.revocation('RFC 7009 2.1: a wrong hint does no harm'),
  ],
  [
    '2.2',
    'A token that is unknown or over is no error.',
    'server/core/revocation.ts',
    negative.revocation('RFC 7009 2.2: an unknown token is no error'),
  ],
  [
    '2.2.1',
    'No kind of token is refused as unsupported.',
    'server/core/revocation.ts',
    negative.revocation('RFC 7009 2.2.1: no token is of an unsupported type'),
  ],
  [
    '2.3',
    'Pages may revoke, without cookies.',
    'server/http/cors.ts',
    negative.revocation('RFC 7009 2.3: every page may revoke, and no cookie goes with it'),
  ],
])

/** Resource servers that ask about a token. */
export const introspection = requirementDocument('RFC 7662', 'OAuth 2.0 Token Introspection', [
  [
    '2.1',
    'By POST, from clients that prove themselves.',
    'server/http/introspect.ts',
    negative.introspection('RFC 7662 2.1: a public client proves nothing'),
  ],
  [
    '2.1',
    'The hint is a hint.',
    'server/core/introspection.ts',
    negative.introspection('RFC 7662 2.2: a wrong hint does not hide a token'),
  ],
  [
    '2.2',
    'A resource server of the operator learns scope, client, person, times, audience and issuer of an active token.',
    'server/core/introspection.ts',
    core('introspection', 'RFC 7662 2.2: what a token is worth, for a resource server of the operator'),
  ],
  [
    '2.2',
    'A token that is none, is over, or is somebody else’s: inactive, and not a word more.',
    'server/core/introspection.ts',
    negative.introspection('RFC 7662 2.2: an access token of another client, and not a word more'),
  ],
  [
    '2.2',
    'Who may ask about every token, the operator says.',
    'server/client-file.ts',
    http('introspect', 'tells a resource server of the operator about every token, and others nothing'),
  ],
  [
    '2.3',
    'Failed authentication is 401 with the scheme.',
    'server/http/client-endpoint.ts',
    negative.introspection('RFC 7662 2.3: a wrong secret'),
  ],
  [
    '4',
    'Expiry and revocation count at once.',
    'server/core/introspection.ts',
    negative.introspection('RFC 7662 4: a token that was revoked'),
  ],
  [
    '4',
    'No answer is cached or read by a page, and no token is in an address.',
    'server/http/introspect.ts',
    negative.introspection('RFC 7662 4: no page may read the answers'),
  ],
  [
    '5',
    'The client of a token does not learn by it who the person is.',
    'server/core/introspection.ts',
    core(
      'introspection',
      'RFC 7662 5: its own client does not learn who the person is: nobody allowed it that',
    ),
  ],
])

/** Devices without a browser. */
export const deviceGrant = requirementDocument('RFC 8628', 'OAuth 2.0 Device Authorization Grant', [
  [
    '3.1',
    'A client that may use this grant starts it by POST, and proves itself when it has credentials.',
    'server/http/device-authorization.ts',
    negative.device('RFC 8628 3.1: a client that registered without this grant'),
  ],
  [
    '3.2',
    'It gets both codes, the address, their life and the interval.',
    'server/core/device-authorization.ts',
    core('device-authorization', 'RFC 8628 3.2: answers both codes, where to go, and for how long'),
  ],
  [
    '3.2',
    'Every start has codes of its own, which no cache keeps.',
    'server/core/device-authorization.ts',
    negative.device('RFC 8628 3.2: every start has codes of its own'),
  ],
  [
    '3.3',
    'The person types the code, sees who asks, from where and for what, and signs in.',
    'server/http/device-page.ts',
    http('device-page', 'RFC 8628 3.3: shows who asks, from where and for what, with the ways to sign in'),
  ],
  [
    '3.3.1',
    'A link with the code fills it in to be compared, and allows nothing.',
    'server/http/device-page.ts',
    http(
      'device-page',
      'RFC 8628 3.3.1: a code in the link is filled in to be compared, and nothing is done with it',
    ),
  ],
  [
    '3.4',
    'A device code is redeemed by its client, and is nothing else than that.',
    'server/core/device-authorization.ts',
    negative.device(
      'RFC 8628 3.4: the device_code of another client, whose polls do not count for the owner',
    ),
  ],
  [
    '3.5',
    'Until somebody decides it is `authorization_pending`.',
    'server/core/device-authorization.ts',
    negative.device('RFC 8628 3.5: nobody has decided'),
  ],
  [
    '3.5',
    'Who asks too fast is slowed down by five seconds, each time.',
    'server/core/device-authorization.ts',
    negative.device(
      'RFC 8628 3.5: a device that asks too fast is slowed down, by five seconds more each time',
    ),
  ],
  [
    '3.5',
    'A refusal is `access_denied`.',
    'server/core/device-authorization.ts',
    http('device-authorization', 'a person refuses it'),
  ],
  [
    '3.5',
    'Too late is `expired_token`.',
    'server/core/device-authorization.ts',
    negative.device('RFC 8628 3.5: nobody decided in time'),
  ],
  [
    '3.5',
    'Allowed, it gets tokens once.',
    'server/core/device-authorization.ts',
    http('device-authorization', 'a person allows it, and the device calls a tool as that person'),
  ],
  [
    '4',
    'The endpoint is in the metadata.',
    'server/http/metadata.ts',
    http('metadata', 'RFC 8414: %s is the one authorization server document'),
  ],
  [
    '5.1',
    'User codes cannot be guessed: ten tries in ten minutes from one address.',
    'server/http/device-page.ts',
    http(
      'device-page',
      'RFC 8628 5.1: after ten codes of one address in ten minutes not even the right one is looked at',
    ),
  ],
  [
    '5.1',
    'Nor by many addresses together.',
    'server/http/device-page.ts',
    http('device-page', 'many addresses together are limited as well'),
  ],
  [
    '5.2',
    'Device codes have 256 random bits.',
    'server/core/device-authorization.ts',
    core('device-authorization', 'RFC 8628 3.2: answers both codes, where to go, and for how long'),
  ],
  [
    '5.4',
    'The page warns of codes that somebody else sent.',
    'server/http/pages/device-entry-page.ts',
    edge('http/pages/device-entry-page', 'RFC 8628 5.4: warns of codes that somebody else sent'),
  ],
  [
    '6.1',
    'A user code has eight letters that are no vowels.',
    'server/core/user-code.ts',
    core('user-code', 'is eight letters without vowels, in two groups'),
  ],
  [
    '6.1',
    'It is found however it is typed.',
    'server/core/user-code.ts',
    core('device-authorization', 'RFC 8628 6.1: finds it however it is typed'),
  ],
])
