require 'openssl'

# Whether Sluice sent this request. raw_body: the bytes as received (request.raw_post in Rails).
# headers: those of the request (request.headers in Rails).
def genuine?(raw_body, headers, secret)
  expected = OpenSSL::HMAC.hexdigest('SHA1', secret, raw_body)
  # while the secret is rotated, the second header is signed with the previous one
  [headers['X-Signature'], headers['X-Signature-Previous']].compact.any? do |given|
    OpenSSL.secure_compare(expected, given)
  end
end
