import { maxRedirects, redirectTarget } from '@drawbridge/shared/redirect.ts'
import { discard, type HttpClient, type HttpRequest, type HttpResponse } from './http-client.ts'

/**
 * Sends a request, and sends it again where the server has it at another path of the same origin, three times at most. Resolves with
 * every other redirect as it is: a token, code or message is for the origin that was asked.
 */
export async function sendFollowing(http: HttpClient, request: HttpRequest): Promise<HttpResponse> {
  const { method } = request
  let url = request.url
  for (let followed = 0; ; followed += 1) {
    const response = await http.send({ ...request, url })
    const { status, headers } = response
    const target = redirectTarget({ method, url: new URL(url) }, { status, location: headers['location'] })
    if (target === undefined || followed === maxRedirects) return response
    discard(response)
    url = target.href
  }
}
