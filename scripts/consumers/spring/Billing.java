// A module that names its caller. `scripts/consumers.mjs` inserts the code of docs/modules.md.
package billing;

import static org.springframework.security.config.Customizer.withDefaults;
import static org.springframework.security.oauth2.jose.jws.SignatureAlgorithm.ES256;

import jakarta.servlet.DispatcherType;
import java.util.Objects;
import java.util.stream.Collectors;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.security.oauth2.server.resource.autoconfigure.OAuth2ResourceServerProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.GrantedAuthority;
import org.springframework.security.oauth2.jwt.JwtClaimValidator;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.JwtValidators;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

@SpringBootApplication
@RestController
public class Billing {
  public static void main(String[] arguments) {
    SpringApplication.run(Billing.class, arguments);
  }

  @GetMapping("/invoice")
  String invoice(Authentication caller) {
    return caller.getAuthorities().stream().map(GrantedAuthority::getAuthority).collect(Collectors.joining(" ", caller.getName() + " ", ""));
  }

// INSERT
}
