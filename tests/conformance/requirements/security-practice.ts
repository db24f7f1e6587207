import { requirementDocument } from '../requirement.ts'
import { securityAttacks } from './security-attacks.ts'
import { core, http, negative } from './proof.ts'

/** What the working group has learned from attacks. */
export const securityPractice = requirementDocument(
  'RFC 9700',
  'Best Current Practice for OAuth 2.0 Security',
  [
    [
      '2.1',
      'Redirect URIs are compared as texts; the port counts but on loopback.',
      'shared/redirect-uri.ts',
      negative.authorization('RFC 9700 2.1: the port of a host that is not loopback counts'),
    ],
    [
      '2.1',
      'A native app may return to any port of a loopback address.',
      'shared/redirect-uri.ts',
      http(
        'authorize',
        'RFC 8252 7.3: a loopback redirect may name any port, at the address that was asked for',
      ),
    ],
    [
      '2.1.1',
      'Only S256 counts.',
      'server/core/authorization-request.ts',
      negative.authorization('RFC 9700 2.1.1: plain'),
    ],
    [
      '2.1.1',
      'A code is redeemed with the verifier of its challenge alone.',
      'server/core/authorization-code.ts',
      negative.token('RFC 7636 4.6: a wrong code_verifier'),
    ],
    [
      '2.1.1',
      'Support of PKCE is in the metadata.',
      'server/http/metadata.ts',
      negative.resource('RFC 9700 2.1.1: only S256 is offered'),
    ],
    [
      '2.1.1',
      'A code that comes back later ends everything that it gave.',
      'server/core/authorization-code.ts',
      negative.token('RFC 9700 2.1.1: a code a second time, later: everything it gave is over'),
    ],
    [
      '2.1.2',
      'There is no implicit grant.',
      'server/core/authorization-request.ts',
      negative.authorization('RFC 9700 2.1.2: the implicit grant'),
    ],
    [
      '2.1.2',
      'Nothing but codes is offered.',
      'server/http/metadata.ts',
      negative.resource('RFC 9700 2.1.2: only codes are offered'),
    ],
    [
      '2.2.2',
      'Refresh tokens are rotated, for every client.',
      'server/core/refresh-token.ts',
      core('refresh-token', 'RFC 6749 6, RFC 9700 4.14.2: a new pair, of which both work'),
    ],
    [
      '2.3',
      'A token is for the one resource.',
      'server/core/resource.ts',
      negative.token('RFC 8707 2.2: a foreign resource beside ours'),
    ],
    [
      '2.3',
      'A call needs the scope of its tool, each time.',
      'server/http/mcp.ts',
      http('mcp-scope', 'is asked for (RFC 6750 section 3.1, MCP step-up)'),
    ],
    [
      '2.4',
      'There is no password grant.',
      'server/http/token.ts',
      negative.token('RFC 9700 2.4: the password grant'),
    ],
    [
      '2.5',
      'A client that has credentials proves itself at the token endpoint.',
      'server/core/client-authentication.ts',
      negative.client('RFC 6749 3.2.1: a client with a secret comes without it'),
    ],
    [
      '2.5',
      'Clients can prove themselves by a key, and nothing secret of them is kept.',
      'server/core/client-assertion.ts',
      core('client-assertion', 'accepts a signature by %s'),
    ],
    [
      '2.6',
      'Metadata is published.',
      'server/http/metadata.ts',
      http('metadata', 'RFC 8414: %s is the one authorization server document'),
    ],
    [
      '2.6',
      'No page of another origin can read an answer of the authorization endpoint.',
      'server/http/cors.ts',
      negative.authorization('RFC 9700 2.6: no page may read an answer'),
    ],
    [
      '2.6',
      'A client does not choose its id.',
      'server/core/client-registration.ts',
      negative.registration('RFC 7591 3.2.1: the client cannot choose its id'),
    ],
    [
      '2.6',
      'A redirect URI by http is on loopback.',
      'shared/redirect-uri.ts',
      negative.registration('OAuth 2.1 2.3.1: http beyond loopback'),
    ],

    ...securityAttacks,
  ],
)
