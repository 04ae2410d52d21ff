import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type Answer, CORS, errorAnswer, JSON_TYPE } from '../answer.ts'
import type { Code } from '../codes.ts'
import { CUT } from './body.ts'

type BrokenOptions = {
  /** The response to the request that came last on a connection. */
  lastResponse(socket: Socket): ServerResponse | undefined
  answered: (code: Answer['code']) => void
  /** How long a client may go on writing after the answer, in milliseconds. */
  lingerMs: number
}

type Broken = { error: NodeJS.ErrnoException; socket: Socket }

/** Answers what Node's parser has given up: no HTTP, too large a head, or too slow. In order: after what came before it. */
export function createAnswerBroken({ lastResponse, answered, lingerMs }: BrokenOptions) {
  function byHand(socket: Socket, code: Code): void {
    if (!socket.writable) return
    answered(code)
    socket.end(printed(errorAnswer(code)))
    const timer = setTimeout(() => socket.destroy(), lingerMs)
    socket.once('close', () => clearTimeout(timer))
  }

  return ({ error, socket }: Broken): void => {
    if (error.code === 'ECONNRESET') return void socket.destroy()
    const code = codeOf(error)
    const last = lastResponse(socket)
    if (!last || (last.req.complete && last.writableFinished)) byHand(socket, code)
    else if (last.req.complete) last.once('close', () => byHand(socket, code))
    // its answer is out, and it is the rest of its body that does not come; one that lingers has a time of its own
    else if (last.headersSent && !last.writableFinished) return
    else if (!last.req.emit(CUT, code)) socket.destroy()
  }
}

function codeOf({ code }: NodeJS.ErrnoException): Code {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout'
  return code === 'HPE_HEADER_OVERFLOW' ? 'headers_too_large' : 'bad_request'
}

/** As HTTP/1.1; no response of Node's is there to do it. */
function printed({ status, body }: Answer): string {
  const headers = {
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
    ...CORS,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`
}
