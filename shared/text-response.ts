/**
 * A response whose body is text. Its headers stay a plain object until the last moment: the Node adapter writes that as it is,
 * while a `Headers` costs as much as everything else that a small response takes.
 */
export interface TextResponse {
  status: number
  headers: Record<string, string>
  body: string | null
}

/** The result of a handler: text, or a `Response` where there is a stream or several cookies. */
export type Reply = TextResponse | Response

/** Creates the `Response` of a reply, as it is. */
export function toResponse(reply: Reply): Response {
  return reply instanceof Response ? reply : new Response(reply.body, reply)
}

/** Headers of event streams, which proxies must pass on as they are written. */
export const eventStreamHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  // nginx (ngx_http_proxy_module, proxy_buffering).
  'x-accel-buffering': 'no',
}

/** Returns whether a reply of this server is an event stream; parameters of the type are not expected. */
export function isEventStream(reply: Reply): reply is Response {
  return reply instanceof Response && reply.headers.get('content-type') === 'text/event-stream'
}
