import { requirementDocument } from '../requirement.ts'
import { mcpBase } from './mcp-base.ts'
import { edge, http, mcp, negative, shared, transport } from './proof.ts'

/** Streamable HTTP and what travels on it. Sections have the headings of its chapters; `Security-Warning` is an earlier one. */
export const mcpTransport = requirementDocument(
  'MCP transport',
  'Model Context Protocol 2026-07-28 and earlier revisions, Streamable HTTP and base protocol',
  [
    [
      'Security-Warning',
      'A page of an unknown origin is 403, whatever token it carries.',
      'server/http/guards.ts',
      negative.resource('MCP transport Security-Warning: a page of an unknown origin, whatever it carries'),
    ],
    [
      'Security-Warning',
      'The Host of a request is one of ours, which DNS rebinding cannot have.',
      'server/http/router.ts',
      http('router', 'DNS rebinding: another host name is 421, but for probes'),
    ],
    [
      'Security-Warning',
      'Without settings the server listens on loopback alone.',
      'server/config.ts',
      edge('config', 'starts with nothing given: everything on this machine'),
    ],
    [
      'Security-Warning',
      'Every connection proves itself, whatever its method.',
      'server/http/mcp.ts',
      http('mcp', '%s without a credential: a challenge without an error'),
    ],
    [
      'Sending-Messages',
      'A notification is 202 without a body.',
      'server/mcp/direct-route.ts',
      transport('MCP transport Sending-Messages: %s is 202 without a body'),
    ],
    [
      'Sending-Messages',
      'A request is answered by one JSON object where nothing is to be streamed.',
      'server/mcp/endpoint.ts',
      http('mcp', '2026-07-28: answers with JSON, a result type and private caching'),
    ],
    [
      'Receiving-Messages',
      'A stream holds notifications of its request, no request of the server, and ends with the response.',
      'server/mcp/sdk-endpoint.ts',
      transport('holds notifications of this request, and ends with its response'),
    ],
    [
      'Receiving-Messages',
      'A stream tells proxies not to hold it back.',
      'server/mcp/sdk-endpoint.ts',
      transport('MCP transport Receiving-Messages: asks proxies not to hold it back'),
    ],
    [
      'Cancellation',
      'Closing the stream, or the connection, is cancellation: the tool is told.',
      'server/mcp/open-streams.ts',
      mcp('sdk-endpoint', '(MCP 2026-07-28 cancellation)'),
    ],
    [
      'Cancellation',
      'So it is on a real socket, with and without a stream.',
      'server/http/listener.ts',
      mcp('hang-up', 'at 2026-07-28, where that cancels the call'),
    ],
    [
      'Request-Metadata',
      'A request of 2026-07-28 names version and capabilities in its own metadata, else it is refused.',
      'server/mcp/direct-route.ts',
      transport('MCP transport Request-Metadata: no capabilities'),
    ],
    [
      'Protocol-Version-Header',
      'The header equals the version of the body.',
      'server/mcp/sdk-endpoint.ts',
      transport('MCP transport Protocol-Version-Header: another version than in the body'),
    ],
    [
      'Protocol-Version-Header',
      'An unknown version is refused with those that are known.',
      'server/mcp/sdk-endpoint.ts',
      transport(
        'MCP transport Protocol-Version-Header: an unknown version is answered with those that are known',
      ),
    ],
    [
      'Protocol-Version-Header',
      'An unknown method is 404 with a JSON-RPC error.',
      'server/mcp/sdk-endpoint.ts',
      transport('MCP transport Protocol-Version-Header: an unknown method'),
    ],
    [
      'Server-Validation',
      '`Mcp-Method` is there and is the method of the body.',
      'server/mcp/direct-route.ts',
      transport('MCP transport Server-Validation: another Mcp-Method'),
    ],
    [
      'Server-Validation',
      '`Mcp-Name` is there and is the name in the body.',
      'server/mcp/direct-route.ts',
      transport('MCP transport Server-Validation: no Mcp-Name'),
    ],
    [
      'Server-Validation',
      'Numbers in headers are compared as numbers.',
      'server/mcp/header-parameter.ts',
      transport('MCP transport Server-Validation: numbers are compared as numbers'),
    ],
    [
      'Case-Sensitivity',
      'Values of headers are case-sensitive.',
      'server/mcp/direct-route.ts',
      transport('MCP transport Case-Sensitivity: the method in capitals'),
    ],
    [
      'Custom-Headers',
      'An argument that has a header comes with it, and they agree.',
      'server/mcp/header-parameter.ts',
      transport('MCP transport Custom-Headers: an argument and another header'),
    ],
    [
      'Custom-Headers',
      'A null or missing argument needs no header.',
      'server/mcp/header-parameter.ts',
      mcp('header-parameter', 'not needed: null'),
    ],
    [
      'Custom-Headers',
      'A declaration of a header that breaks the rules is refused, and so is its tool.',
      'shared/x-mcp-header.ts',
      shared('x-mcp-header', '%s are refused'),
    ],
    [
      'Value-Encoding',
      'Encoded values are decoded before they are compared.',
      'shared/mcp-header-value.ts',
      transport('MCP transport Value-Encoding: an encoded value is decoded first'),
    ],
    [
      'Value-Encoding',
      'What cannot be decoded is refused.',
      'shared/mcp-header-value.ts',
      transport('MCP transport Value-Encoding: a name that is no base64'),
    ],
    [
      'Removed-Methods',
      'What 2026-07-28 does not have any more is 404 in its requests.',
      'server/mcp/sdk-endpoint.ts',
      transport('`MCP transport Removed-Methods: ${method}`'),
    ],
    [
      'Earlier-Revisions',
      'A session id in a request of 2026-07-28 is ignored, and none is given.',
      'server/mcp/endpoint.ts',
      transport('MCP transport Earlier-Revisions: a session id is ignored, and none is given'),
    ],
    [
      'Earlier-Revisions',
      'Without sessions GET and DELETE are 405.',
      'server/http/mcp.ts',
      http('mcp', '%s is 405 for a signed-in caller'),
    ],
    [
      'Earlier-Revisions',
      '`initialize` of earlier revisions is served, and answers their version.',
      'server/mcp/direct-route.ts',
      http('mcp', 'initialize of 2025-11-25 works without a session'),
    ],
    [
      'Earlier-Revisions',
      'With sessions: requests to the client, notices and resumed streams, as 2025-11-25 has them.',
      'server/mcp/session-leg.ts',
      mcp('session-leg', 'that a client missed are sent again after the last one that it saw'),
    ],

    ...mcpBase,
  ],
)
