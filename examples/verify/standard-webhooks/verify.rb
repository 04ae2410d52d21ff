require 'openssl'

TOLERANCE_SECONDS = 5 * 60

# Whether Sluice sent this request, at most five minutes ago. raw_body: the bytes as received
# (request.raw_post in Rails). headers: those of the request (request.headers in Rails).
def genuine?(raw_body, headers, secret)
  timestamp = headers['webhook-timestamp'].to_s
  return false unless timestamp.match?(/\A\d+\z/) && (Time.now.to_i - timestamp.to_i).abs <= TOLERANCE_SECONDS

  key = secret.start_with?('whsec_') ? secret.delete_prefix('whsec_').unpack1('m0') : secret
  signed = "#{headers['webhook-id']}.#{timestamp}.".b + raw_body.b
  expected = 'v1,' + [OpenSSL::HMAC.digest('SHA256', key, signed)].pack('m0')
  # while the secret is rotated, there are two signatures: of the new secret and of the previous one
  headers['webhook-signature'].to_s.split.any? { |given| OpenSSL.secure_compare(expected, given) }
end
