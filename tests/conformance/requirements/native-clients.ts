import { requirementDocument } from '../requirement.ts'
import { core, flow, http, negative, shared } from './proof.ts'

/** Proof of possession of a code. */
export const pkce = requirementDocument('RFC 7636', 'Proof Key for Code Exchange', [
  [
    '4.1',
    'A verifier has 43 to 128 characters of the grammar.',
    'shared/pkce.ts',
    shared('pkce', 'a short verifier with its true challenge'),
  ],
  [
    '4.2',
    'A challenge is the base64url form of a SHA-256 hash.',
    'shared/pkce.ts',
    negative.authorization('RFC 7636 4.2: a challenge with padding'),
  ],
  [
    '4.3',
    'Without a method it would be plain, which is refused; the method is case-sensitive.',
    'server/core/authorization-request.ts',
    negative.authorization('RFC 7636 4.3: an omitted method means plain'),
  ],
  [
    '4.4',
    'The challenge stays with the code.',
    'server/core/authorization-code.ts',
    core('authorization-code', 'makes a code of 256 random bits, known to the store by its hash'),
  ],
  [
    '4.4.1',
    'A missing challenge or an unknown method is `invalid_request`, at the client.',
    'server/core/authorization-request.ts',
    negative.authorization('RFC 7636 4.4.1: an unknown method'),
  ],
  [
    '4.5',
    'A redemption has a verifier.',
    'server/core/authorization-code.ts',
    negative.token('RFC 7636 4.5: no code_verifier'),
  ],
  [
    '4.6',
    'A verifier of another challenge is `invalid_grant`, the challenge itself too.',
    'shared/pkce.ts',
    negative.token('RFC 7636 4.6: the challenge itself as verifier'),
  ],
  [
    'B',
    'The example of the standard works, from end to end.',
    'shared/pkce.ts',
    flow('RFC 7636 B: the example of the standard works'),
  ],
])

/** Clients on the person's own device. */
export const nativeApps = requirementDocument('RFC 8252', 'OAuth 2.0 for Native Apps', [
  [
    '7.1',
    'A private-use scheme is good when the operator lists the whole URI.',
    'shared/redirect-uri.ts',
    negative.registration('RFC 8252 7.1: a private-use scheme that nobody allowed'),
  ],
  [
    '7.2',
    'Claimed https URIs are redirect URIs as any.',
    'shared/redirect-uri.ts',
    shared('redirect-uri', 'https (RFC 8252 section 7.2)'),
  ],
  [
    '7.3',
    'Any port of a loopback address is good at the time of the request.',
    'shared/redirect-uri.ts',
    http(
      'authorize',
      'RFC 8252 7.3: a loopback redirect may name any port, at the address that was asked for',
    ),
  ],
  [
    '7.3',
    'What only begins like loopback is none.',
    'shared/redirect-uri.ts',
    negative.registration('RFC 8252 7.3: a host that only begins like loopback'),
  ],
  [
    '8.1',
    'PKCE is required.',
    'server/core/authorization-request.ts',
    negative.authorization('RFC 9700 4.8.2: no PKCE at all'),
  ],
  [
    '8.3',
    '`localhost` and 127.0.0.1 are different hosts.',
    'shared/redirect-uri.ts',
    negative.authorization('RFC 8252 8.3: localhost is not 127.0.0.1'),
  ],
  [
    '8.4',
    'The whole redirect URI is registered.',
    'server/core/client-registration.ts',
    negative.registration('RFC 7591 2: no redirect_uris for the code grant'),
  ],
  [
    '8.5',
    'A client without a secret is public, and a secret it sends proves nothing.',
    'server/core/client-authentication.ts',
    core('client-authentication', 'a secret of a public client proves nothing'),
  ],
  [
    '8.6',
    'A client that any program can claim to be is shown as such, and a person decides each time.',
    'server/http/client-view.ts',
    http('client-view', 'localhost redirects prove nothing: any program can use the id'),
  ],
])
